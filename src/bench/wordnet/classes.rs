//! The classes.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::{Database, Ref};

/// A word, as one part of speech.
#[derive(Debug, Serialize, Deserialize)]
pub struct Word {
    /// In small letters.
    pub lemma: String,
    /// `n`, `v`, `a` or `r`.
    pub part: String,
    /// Its senses, the most frequent first.
    pub senses: Vec<Ref<Sense>>,
}

/// A word in one of its meanings.
#[derive(Debug, Serialize, Deserialize)]
pub struct Sense {
    /// As it is written.
    pub form: String,
    /// The word.
    pub word: Ref<Word>,
    /// What it means.
    pub synset: Ref<Synset>,
    /// Senses it is related to.
    pub related: Vec<RelatedSense>,
}

/// A set of senses that mean the same.
#[derive(Debug, Serialize, Deserialize)]
pub struct Synset {
    /// `n`, `v`, `a`, `s` or `r`.
    pub part: String,
    /// Its number in the files.
    pub offset: u32,
    /// The number of the lexicographer's file.
    pub file: u8,
    /// What it means, in words.
    pub gloss: String,
    /// The senses.
    pub senses: Vec<Ref<Sense>>,
    /// What it is a kind or an instance of.
    pub hypernyms: Vec<Ref<Synset>>,
    /// Its kinds and instances.
    pub hyponyms: Vec<Ref<Synset>>,
    /// What it is related to otherwise: parts, members, opposites and so on.
    pub related: Vec<RelatedSynset>,
}

/// A relation between senses.
#[derive(Debug, Serialize, Deserialize)]
pub struct RelatedSense {
    /// The symbol in the files.
    pub kind: String,
    /// The other sense.
    pub to: Ref<Sense>,
}

/// A relation between synsets.
#[derive(Debug, Serialize, Deserialize)]
pub struct RelatedSynset {
    /// The symbol in the files.
    pub kind: String,
    /// The other synset.
    pub to: Ref<Synset>,
}

/// Defines the classes and their indexes.
pub fn define(database: &Database) -> Result<()> {
    database.define_all::<(Word, Sense, Synset)>()?;
    database.define::<Word>()?.index("lemma")?;
    database.define::<Synset>()?.index("hypernyms")?;
    Ok(())
}
