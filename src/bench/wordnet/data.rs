//! The graph as plain vectors, which the database is compared with.

/// A set of synonyms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Synset {
    /// `n`, `v`, `a`, `s` or `r`.
    pub part: char,
    /// Its number in the files, which is one of a kind within nouns, verbs, adjectives and adverbs.
    pub offset: u32,
    /// The number of the lexicographer's file it comes from, such as 5 for animals.
    pub file: u8,
    /// What it means.
    pub gloss: String,
    /// The words as written, in their order.
    pub forms: Vec<String>,
    /// Pointers to other synsets as a whole.
    pub pointers: Vec<Pointer>,
    /// Pointers from one of its words to one of another synset.
    pub lexical: Vec<LexicalPointer>,
}

/// A pointer from one synset to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// The symbol in the files, such as `@` for a hypernym.
    pub kind: String,
    /// Position of the synset.
    pub target: usize,
}

/// A pointer from one word to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LexicalPointer {
    /// Position of the word in its synset.
    pub from: usize,
    /// The symbol in the files, such as `!` for an antonym.
    pub kind: String,
    /// Position of the synset.
    pub target: usize,
    /// Position of the word in that synset.
    pub to: usize,
}

/// A word, as one part of speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// In small letters.
    pub lemma: String,
    /// `n`, `v`, `a` or `r`.
    pub part: char,
    /// Positions of its synsets, the most frequent sense first.
    pub synsets: Vec<usize>,
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// The synsets: nouns, verbs, adjectives, adverbs.
    pub synsets: Vec<Synset>,
    /// The words, in the same order of parts of speech.
    pub words: Vec<Word>,
}

/// How the files say that a synset is a kind, or an instance, of another.
const ABOVE: [&str; 2] = ["@", "@i"];
/// And that another is a kind, or an instance, of it.
const BELOW: [&str; 2] = ["~", "~i"];

impl Synset {
    /// Positions of its hypernyms, those it is an instance of included.
    pub fn above(&self) -> impl Iterator<Item = usize> {
        self.targets(&ABOVE)
    }

    /// Positions of its hyponyms, its instances included.
    pub fn below(&self) -> impl Iterator<Item = usize> {
        self.targets(&BELOW)
    }

    /// The pointers that are neither.
    pub fn others(&self) -> impl Iterator<Item = &Pointer> {
        let hierarchy = |pointer: &&Pointer| {
            ABOVE.contains(&pointer.kind.as_str()) || BELOW.contains(&pointer.kind.as_str())
        };
        self.pointers.iter().filter(move |pointer| !hierarchy(pointer))
    }

    fn targets(&self, kinds: &'static [&str; 2]) -> impl Iterator<Item = usize> {
        let wanted = self
            .pointers
            .iter()
            .filter(|pointer| kinds.contains(&pointer.kind.as_str()));
        wanted.map(|pointer| pointer.target)
    }
}

impl Graph {
    /// The number of senses: each word of each synset is one.
    pub fn senses(&self) -> usize {
        self.synsets.iter().map(|synset| synset.forms.len()).sum()
    }

    /// The noun above all others: `entity`, or else the first noun without a hypernym.
    pub fn root(&self) -> usize {
        let is_root = |synset: &&Synset| synset.part == 'n' && synset.above().next().is_none();
        let roots = || {
            self.synsets
                .iter()
                .enumerate()
                .filter(|(_, synset)| is_root(synset))
        };
        let entity = roots().find(|(_, synset)| synset.forms.iter().any(|form| form == "entity"));
        entity
            .or_else(|| roots().next())
            .map_or(0, |(position, _)| position)
    }
}
