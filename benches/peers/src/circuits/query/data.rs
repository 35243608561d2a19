//! What both stores hold, all of it following from a number and a seed.

use crate::random::{Random, scramble};

/// Departments; each has a site.
pub const DEPARTMENTS: u64 = 1_000;
/// Sites; each has a city of its own.
pub const SITES: u64 = 50;
/// Balances lie below this.
pub const BALANCES: u64 = 1_000_000;
/// Edges a node.
pub const DEGREE: usize = 4;

/// Person `number` as it is loaded.
#[derive(Debug, Clone)]
pub struct Person {
    /// Unique.
    pub code: String,
    /// Below 100.
    pub age: i64,
    /// Any float below 1,000; hardly ever twice.
    pub score: f64,
    /// Below [`BALANCES`].
    pub balance: i64,
    /// The number of a department.
    pub department: u64,
    /// 60 characters.
    pub note: String,
}

/// Person `number`.
pub fn person(number: u64) -> Person {
    Person {
        code: code(number),
        age: (scramble(number ^ 0xa6e) % 100) as i64,
        score: score(number),
        balance: balance(number),
        department: scramble(number ^ 0xde9) % DEPARTMENTS,
        note: format!("{number:060}"),
    }
}

/// The code of person `number`.
pub fn code(number: u64) -> String {
    format!("{:016x}", scramble(number + 1))
}

/// The balance of person `number` when loaded.
pub fn balance(number: u64) -> i64 {
    (scramble(number ^ 0xba1) % BALANCES) as i64
}

/// The score of person `number`.
pub fn score(number: u64) -> f64 {
    (scramble(number ^ 0x5c0) >> 12) as f64 / (1_u64 << 42) as f64
}

/// The site of a department.
pub fn site(department: u64) -> u64 {
    department % SITES
}

/// The nodes that each node leads to.
#[derive(Debug)]
pub struct Graph {
    /// By node.
    pub targets: Vec<[u32; DEGREE]>,
}

impl Graph {
    /// `nodes` nodes with random edges.
    pub fn new(nodes: usize, seed: u64) -> Graph {
        let mut random = Random::new(seed ^ 0x6e6f_6465);
        let targets = (0..nodes).map(|_| std::array::from_fn(|_| random.below(nodes as u64) as u32));
        Graph {
            targets: targets.collect(),
        }
    }

    /// How many nodes are reached from node 0, itself included.
    pub fn reached(&self) -> u64 {
        let mut seen = vec![false; self.targets.len()];
        let mut waiting = vec![0_u32];
        let mut count = 0;
        while let Some(node) = waiting.pop() {
            if !std::mem::replace(&mut seen[node as usize], true) {
                count += 1;
                waiting.extend(self.targets[node as usize]);
            }
        }
        count
    }
}
