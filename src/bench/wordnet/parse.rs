//! Reading WordNet's own files, `data.noun`, `index.noun` and their like, as its manual page wndb(5WN) describes them.

use std::fs;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::data::{Graph, LexicalPointer, Pointer, Synset, Word};
use crate::error::{Error, Result};

/// Where Debian's package `wordnet-base` puts the files.
pub const DEFAULT_FOLDER: &str = "/usr/share/wordnet";

/// The parts of speech: the ending of the files and the letter.
const PARTS: [(&str, char); 4] = [("noun", 'n'), ("verb", 'v'), ("adj", 'a'), ("adv", 'r')];

/// Where each synset of the files lies in the graph.
type Positions = FxHashMap<(char, u32), usize>;

/// Reads the graph from the files of a folder.
///
/// # Errors
/// [`Error::Argument`] where the folder has no such files, with the way to get them, and where one of them is not in
/// WordNet's format, with the line.
pub fn read(folder: &Path) -> Result<Graph> {
    let mut lines = Vec::new();
    for (ending, part) in PARTS {
        lines.push((
            part,
            file(folder, "data", ending)?,
            file(folder, "index", ending)?,
        ));
    }
    let mut positions = Positions::default();
    for (part, data, _) in &lines {
        for (number, line) in entries(data) {
            let offset = Fields::of(line)
                .number(10)
                .ok_or_else(|| malformed(*part, "data", number))?;
            let position = positions.len();
            positions.insert((*part, offset), position);
        }
    }
    let mut graph = Graph::default();
    for (part, data, index) in &lines {
        for (number, line) in entries(data) {
            let read = synset(line, *part, &positions).ok_or_else(|| malformed(*part, "data", number))?;
            graph.synsets.push(read);
        }
        for (number, line) in entries(index) {
            let read = word(line, *part, &positions).ok_or_else(|| malformed(*part, "index", number))?;
            graph.words.push(read);
        }
    }
    check_targets(&graph)?;
    Ok(graph)
}

fn file(folder: &Path, kind: &str, ending: &str) -> Result<String> {
    let path = folder.join(format!("{kind}.{ending}"));
    let bytes = fs::read(&path).map_err(|error| {
        Error::Argument(format!(
            "{} cannot be read ({error}): the circuit wordnet needs the files of WordNet 3.0; install Debian's package \
             wordnet-base, or take the database files from wordnet.princeton.edu, and name their folder with --data",
            path.display()
        ))
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The lines of a file with their numbers, without the licence at its head, whose lines begin with blanks.
fn entries(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with(' '))
}

fn malformed(part: char, kind: &str, line: usize) -> Error {
    let ending = PARTS
        .iter()
        .find(|(_, letter)| *letter == part)
        .map_or("", |(ending, _)| ending);
    Error::Argument(format!(
        "line {line} of {kind}.{ending} is not in WordNet's format"
    ))
}

/// The fields of a line.
struct Fields<'a>(std::str::SplitWhitespace<'a>);

impl<'a> Fields<'a> {
    fn of(line: &'a str) -> Fields<'a> {
        Fields(line.split_whitespace())
    }

    fn text(&mut self) -> Option<&'a str> {
        self.0.next()
    }

    fn number(&mut self, radix: u32) -> Option<u32> {
        u32::from_str_radix(self.text()?, radix).ok()
    }
}

/// `offset file type words {word id} pointers {symbol offset part source/target} .. | gloss`
fn synset(line: &str, part: char, positions: &Positions) -> Option<Synset> {
    let (data, gloss) = line.split_once('|').unwrap_or((line, ""));
    let mut fields = Fields::of(data);
    let offset = fields.number(10)?;
    let file = u8::try_from(fields.number(10)?).ok()?;
    let kind = fields.text()?.chars().next()?;
    let mut forms = Vec::new();
    for _ in 0..fields.number(16)? {
        forms.push(form(fields.text()?, part));
        fields.text()?;
    }
    let mut synset = Synset {
        part: kind,
        offset,
        file,
        gloss: gloss.trim().to_owned(),
        forms,
        ..Synset::default()
    };
    for _ in 0..fields.number(10)? {
        pointer(&mut fields, positions, &mut synset)?;
    }
    Some(synset)
}

/// A word as written: with blanks, and of adjectives without the mark that says where they may stand.
fn form(text: &str, part: char) -> String {
    let text = match text.split_once('(') {
        Some((bare, _)) if part == 'a' => bare,
        _ => text,
    };
    text.replace('_', " ")
}

fn pointer(fields: &mut Fields<'_>, positions: &Positions, synset: &mut Synset) -> Option<()> {
    let kind = fields.text()?.to_owned();
    let offset = fields.number(10)?;
    let part = fields.text()?.chars().next()?;
    let words = fields.number(16)?;
    let target = *positions.get(&(if part == 's' { 'a' } else { part }, offset))?;
    // Two hexadecimal digits each: the numbers of the words, from 1; 0 means the synset as a whole.
    let (from, to) = (words >> 8, words & 0xff);
    if from == 0 || to == 0 {
        synset.pointers.push(Pointer { kind, target });
        return Some(());
    }
    synset.lexical.push(LexicalPointer {
        from: from as usize - 1,
        kind,
        target,
        to: to as usize - 1,
    });
    Some(())
}

/// `lemma part synsets pointers {symbol} senses tagged {offset}`
fn word(line: &str, part: char, positions: &Positions) -> Option<Word> {
    let mut fields = Fields::of(line);
    let lemma = fields.text()?.replace('_', " ");
    fields.text()?;
    let synsets = fields.number(10)?;
    for _ in 0..fields.number(10)? {
        fields.text()?;
    }
    fields.number(10)?;
    fields.number(10)?;
    let position = |_| positions.get(&(part, fields.number(10)?)).copied();
    let synsets = (0..synsets).map(position).collect::<Option<_>>()?;
    Some(Word { lemma, part, synsets })
}

/// Pointers between words must end at words that are there.
fn check_targets(graph: &Graph) -> Result<()> {
    for synset in &graph.synsets {
        for pointer in &synset.lexical {
            let target = graph
                .synsets
                .get(pointer.target)
                .map_or(0, |target| target.forms.len());
            if pointer.from >= synset.forms.len() || pointer.to >= target {
                let message = format!("a pointer of synset {} ends at no word", synset.offset);
                return Err(Error::Argument(message));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_manual_are_read() {
        let positions = Positions::from_iter([(('n', 1740), 0), (('n', 1930), 1), (('v', 7), 2)]);
        let line = "00001930 03 n 02 physical_entity 0 Thing 1 003 @ 00001740 n 0000 ~i 00001930 n 0000 \
                    + 00000007 v 0201 | an entity that has physical existence  ";
        let read = synset(line, 'n', &positions).unwrap();
        assert_eq!(read.forms, ["physical entity", "Thing"]);
        assert_eq!(read.gloss, "an entity that has physical existence");
        assert_eq!(read.above().collect::<Vec<_>>(), [0]);
        assert_eq!(read.below().collect::<Vec<_>>(), [1]);
        let lexical = LexicalPointer {
            from: 1,
            kind: "+".into(),
            target: 2,
            to: 0,
        };
        assert_eq!(read.lexical, [lexical]);
        let word = word("dog n 2 3 @ ~ #m 2 1 00001930 00001740  ", 'n', &positions).unwrap();
        assert_eq!((word.lemma.as_str(), word.synsets), ("dog", vec![1, 0]));
        assert_eq!(form("galore(ip)", 'a'), "galore");
    }

    #[test]
    fn a_line_cut_short_or_to_nowhere_is_no_synset() {
        let positions = Positions::from_iter([(('n', 1740), 0)]);
        for line in [
            "",
            "00001740",
            "00001740 03 n 02 entity 0",
            "00001740 03 n 01 entity 0 001 @ 00000009 n 0000 | x",
        ] {
            assert_eq!(synset(line, 'n', &positions), None, "{line}");
        }
    }
}
