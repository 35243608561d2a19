//! The work, round by round.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;

use super::data::{self, BALANCES, Graph};
use super::olivine::Olivine;
use super::sqlite::Sqlite;
use crate::circuits::{Done, Settings};
use crate::measure::time;
use crate::peers::{OLIVINE, SQLITE};
use crate::random::Random;
use crate::report::{Bound, Clock, Duel, Report, Row, Unit};

/// Both stores, and what they hold.
struct Both {
    olivine: Olivine,
    sqlite: Sqlite,
    count: usize,
    rounds: usize,
}

/// Runs the circuit.
pub fn run(settings: &Settings, report: &mut Report) -> Result<()> {
    let directory = settings.directory("query")?;
    let graph = Graph::new(settings.objects / 4, settings.seed);
    eprintln!("  loading both stores");
    let both = Both {
        olivine: Olivine::load(&directory.join("olivine"), settings.objects, &graph)?,
        sqlite: Sqlite::load(&directory.join("sqlite"), settings.objects, &graph)?,
        count: settings.objects,
        rounds: settings.rounds,
    };
    both.path(report, "no index on the first reference", [5.0, 5.0]);
    both.closure(report, &graph);
    both.whole(report);
    both.range(report);
    both.look_ups(report, settings.seed)?;
    both.olivine.index_path()?;
    both.sqlite.index_path()?;
    both.path(report, "with an index on the first reference", [5.0, 1.5]);
    Ok(())
}

impl Both {
    /// One piece of work by both in turn, `operations` a round.
    fn duel(
        &self,
        text: &str,
        unit: Unit,
        operations: usize,
        expected: impl Fn(usize) -> u64,
        mut olivine: impl FnMut(&Olivine, usize) -> Result<u64>,
        mut sqlite: impl FnMut(&Sqlite, usize) -> Result<u64>,
    ) -> Duel {
        let mut duel = Duel::new(format!("query: {text}"), Clock::Thread, unit);
        duel.rows = vec![Row::new(OLIVINE), Row::new(SQLITE)];
        for round in 0..=self.rounds {
            let expected = expected(round);
            for (row, first) in duel.rows.iter_mut().zip([true, false]) {
                let (found, taken) = match first {
                    true => time(|| olivine(&self.olivine, round)),
                    false => time(|| sqlite(&self.sqlite, round)),
                };
                let done = found.map(|found| Done {
                    operations,
                    found,
                    expected,
                });
                match done {
                    // The first round warms up.
                    Ok(done) if round == 0 => row.verified &= done.found == done.expected,
                    Ok(done) => row.add(done.operations, taken, done.found == done.expected),
                    Err(error) => {
                        eprintln!("  {text}: {}: {error:#}", row.peer);
                        row.verified = false;
                    }
                }
            }
        }
        duel
    }

    fn path(&self, report: &mut Report, state: &str, bounds: [f64; 2]) {
        let wanted: Vec<u64> = (0..self.count as u64)
            .filter(|number| data::site(data::person(*number).department) == 7)
            .collect();
        let count = wanted.len() as u64;
        let found = self.duel(
            &format!("count by department.site.city, {state}"),
            Unit::NanosecondsAnObject,
            self.count,
            |_| count,
            |olivine, _| {
                let text = "select count(*) from Person p where p.department.site.city = 'city 7'";
                Olivine::answer(&olivine.database.snapshot(), text, ())
            },
            |sqlite, _| {
                let text = "select count(*) from person p join department d on d.id = p.department
                    join site s on s.id = d.site where s.city = 'city 7'";
                sqlite.answer(text, [])
            },
        );
        self.mark(report, found, &format!("two steps, counted, {state}"), bounds[0]);
        let found = self.duel(
            &format!("all objects by department.site.city, {state}"),
            Unit::NanosecondsAnObject,
            self.count,
            |_| count,
            |olivine, _| {
                let text = "select p from Person p where p.department.site.city = 'city 7'";
                Olivine::rows(&olivine.database.snapshot(), text, ())
            },
            |sqlite, _| {
                let text = "select p.id from person p join department d on d.id = p.department
                    join site s on s.id = d.site where s.city = 'city 7'";
                sqlite.rows(text, [])
            },
        );
        self.mark(
            report,
            found,
            &format!("two steps, enumerated, {state}"),
            bounds[1],
        );
    }

    fn closure(&self, report: &mut Report, graph: &Graph) {
        let reached = graph.reached();
        let found = self.duel(
            "nodes reached from one, by edge",
            Unit::NanosecondsAnObject,
            graph.targets.len() * data::DEGREE,
            |_| reached,
            |olivine, _| olivine.reached(&olivine.database.snapshot()),
            |sqlite, _| {
                let text = "with recursive reached(id) as (select 0 union select e.target from reached r
                    join edge e on e.source = r.id) select count(*) from reached";
                sqlite.answer(text, [])
            },
        );
        self.mark(report, found, "closure", 20.0);
    }

    /// What reads all people.
    fn whole(&self, report: &mut Report) {
        let people = || (0..self.count as u64).map(data::person);
        let mut sums = [0.0; 50];
        people().for_each(|person| sums[(person.age % 50) as usize] += person.score);
        let groups: u64 = (0..50).map(|key| key + sums[key as usize].floor() as u64).sum();
        let found = self.duel(
            "sum of scores by age % 50",
            Unit::NanosecondsAnObject,
            self.count,
            |_| groups,
            |olivine, _| {
                let text = "select k, sum(p.score) as s from Person p group by k: p.age % 50";
                Olivine::answer(&olivine.database.snapshot(), text, ())
            },
            |sqlite, _| sqlite.answer("select age % 50, sum(score) from person group by age % 50", []),
        );
        self.mark(report, found, "group by", 5.0);
        let mut scores: Vec<f64> = people().map(|person| person.score).collect();
        scores.sort_by(f64::total_cmp);
        let top: u64 = scores
            .iter()
            .rev()
            .take(10)
            .map(|score| score.floor() as u64)
            .sum();
        let found = self.duel(
            "top ten by score",
            Unit::NanosecondsAnObject,
            self.count,
            |_| top,
            |olivine, _| {
                let text = "select p.score from Person p order by p.score desc limit 10";
                Olivine::answer(&olivine.database.snapshot(), text, ())
            },
            |sqlite, _| sqlite.answer("select score from person order by score desc limit 10", []),
        );
        self.mark(report, found, "top ten by an attribute without an index", 2.0);
    }

    fn range(&self, report: &mut Report) {
        let width = (BALANCES / 100) as i64;
        let from = |round: usize| (round as i64 * 37 * width + 1) % (BALANCES as i64 - width);
        let expected = |round: usize| {
            let within = |balance: i64| (from(round)..from(round) + width).contains(&balance);
            let people = (0..self.count as u64).filter(|number| within(data::balance(*number)));
            people.map(|number| data::person(number).age as u64 + 60).sum()
        };
        let found = self.duel(
            "a hundredth by balance, objects read",
            Unit::NanosecondsAnObject,
            self.count / 100,
            expected,
            |olivine, round| {
                let text =
                    "select sum(p.age), sum(length(p.note)) from Person p where p.balance between $1 and $2";
                let bounds = (from(round), from(round) + width - 1);
                Olivine::answer(&olivine.database.snapshot(), text, bounds)
            },
            |sqlite, round| {
                let text = "select sum(age), sum(length(note)) from person where balance between ?1 and ?2";
                sqlite.answer(text, [from(round), from(round) + width - 1])
            },
        );
        self.mark(report, found, "a range of a hundredth, objects read", 3.0);
    }

    /// Look-ups on the unique index while another thread changes the indexed balances of people.
    fn look_ups(&self, report: &mut Report, seed: u64) -> Result<()> {
        for (state, keys, bound) in [
            ("random", self.count, 1.0),
            ("5,000 hot", 5_000.min(self.count), 10.0),
        ] {
            let codes = |round: usize| {
                let mut random = Random::new(seed ^ (round as u64) << 8 ^ keys as u64);
                let look_ups = (0..LOOK_UPS).map(|_| data::person(random.below(keys as u64)));
                look_ups
                    .map(|person| (person.code, person.age as u64))
                    .collect::<Vec<_>>()
            };
            // Made beforehand: the rounds are to measure the stores alone.
            let rounds: Vec<_> = (0..=self.rounds).map(codes).collect();
            let found = self.duel(
                &format!("look-up by unique code, {state} keys, while writes go on"),
                Unit::NanosecondsAnObject,
                LOOK_UPS,
                |round| rounds[round].iter().map(|(_, age)| *age).sum(),
                |olivine, round| {
                    let change = |number, balance| olivine.change(number, balance);
                    beside_writes(self.count, change, || {
                        let look_up =
                            |(code, _): &(String, u64)| Olivine::look_up(&olivine.database.snapshot(), code);
                        rounds[round].iter().map(look_up).sum()
                    })
                },
                |sqlite, round| {
                    let writer = sqlite.writer()?;
                    let change = move |number, balance| Sqlite::change(&writer, number, balance);
                    beside_writes(self.count, change, || {
                        rounds[round].iter().map(|(code, _)| sqlite.look_up(code)).sum()
                    })
                },
            );
            self.mark(report, found, &format!("unique look-up, {state} keys"), bound);
        }
        Ok(())
    }

    fn mark(&self, report: &mut Report, duel: Duel, text: &str, bound: f64) {
        let faster = duel.ratio(SQLITE, OLIVINE);
        report.mark(
            format!("{text}, faster than SQLite"),
            faster,
            Bound::AtLeast(bound),
        );
        report.add(duel);
    }
}

/// Look-ups a round.
const LOOK_UPS: usize = 20_000;

/// Runs `work` while another thread commits about two thousand changes a second.
fn beside_writes(
    count: usize,
    change: impl Fn(usize, i64) -> Result<()> + Send,
    work: impl FnOnce() -> Result<u64>,
) -> Result<u64> {
    let stop = AtomicBool::new(false);
    let stopped = &stop;
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let mut random = Random::new(17);
            while !stopped.load(Ordering::Relaxed) {
                change(random.below(count as u64) as usize, random.below(BALANCES) as i64)?;
                std::thread::sleep(Duration::from_micros(500));
            }
            anyhow::Ok(())
        });
        let found = work();
        stop.store(true, Ordering::Relaxed);
        match writer.join() {
            Ok(written) => written.and(found),
            Err(_) => anyhow::bail!("the writer ended in a panic"),
        }
    })
}
