//! Storing the graph: every object gets its identity first, so that all may refer to all.

use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;

use super::classes::{RelatedSense, RelatedSynset, Sense, Synset, Word};
use super::data::{self, Graph};
use crate::bench::measure::Progress;
use crate::error::{Error, Result};
use crate::{Database, Ref, Transaction};

/// References to what is stored, in the order of the graph.
#[derive(Debug)]
pub struct Stored {
    /// The synsets.
    pub synsets: Vec<Ref<Synset>>,
    words: Vec<Ref<Word>>,
    /// The senses of each synset.
    senses: Vec<Vec<Ref<Sense>>>,
}

/// Stores the whole graph in one transaction, as identities are given within one.
pub fn load(database: &Database, graph: &Graph, progress: &Progress) -> Result<Stored> {
    progress.now("wordnet loading")?;
    let words = words_of_senses(graph);
    database.transact(|tx| {
        let senses = graph.synsets.iter().map(|synset| reserve(tx, synset.forms.len()));
        let stored = Stored {
            senses: senses.collect::<Result<_>>()?,
            synsets: reserve(tx, graph.synsets.len())?,
            words: reserve(tx, graph.words.len())?,
        };
        for (position, model) in graph.synsets.iter().enumerate() {
            tx.insert_at(
                *at(&stored.synsets, position)?,
                &synset(&stored, model, position)?,
            )?;
        }
        for (position, model) in graph.synsets.iter().enumerate() {
            for (number, reference) in at(&stored.senses, position)?.iter().enumerate() {
                let word = *at(&stored.words, word_of(&words, model, position, number)?)?;
                tx.insert_at(*reference, &sense(&stored, model, position, number, word)?)?;
            }
        }
        for (model, reference) in graph.words.iter().zip(&stored.words) {
            tx.insert_at(*reference, &word(&stored, graph, model)?)?;
        }
        Ok(stored)
    })
}

fn reserve<T: DeserializeOwned>(tx: &mut Transaction, count: usize) -> Result<Vec<Ref<T>>> {
    (0..count).map(|_| tx.reserve::<T>()).collect()
}

/// The word of each lemma and synset.
type WordOf<'g> = FxHashMap<(&'g str, usize), usize>;

fn words_of_senses(graph: &Graph) -> WordOf<'_> {
    let words = graph.words.iter().enumerate();
    let pairs = words.flat_map(|(position, word)| {
        word.synsets
            .iter()
            .map(move |synset| ((word.lemma.as_str(), *synset), position))
    });
    pairs.collect()
}

fn word_of(words: &WordOf<'_>, model: &data::Synset, position: usize, number: usize) -> Result<usize> {
    let lemma = at(&model.forms, number)?.to_lowercase();
    let word = words.get(&(lemma.as_str(), position)).copied();
    word.ok_or_else(|| Error::Argument(format!("no index file has {lemma} with synset {}", model.offset)))
}

fn synset(stored: &Stored, model: &data::Synset, position: usize) -> Result<Synset> {
    let reference = |position: usize| at(&stored.synsets, position).copied();
    let related = |pointer: &data::Pointer| {
        Ok(RelatedSynset {
            kind: pointer.kind.clone(),
            to: reference(pointer.target)?,
        })
    };
    Ok(Synset {
        part: model.part.to_string(),
        offset: model.offset,
        file: model.file,
        gloss: model.gloss.clone(),
        senses: at(&stored.senses, position)?.clone(),
        hypernyms: model.above().map(reference).collect::<Result<_>>()?,
        hyponyms: model.below().map(reference).collect::<Result<_>>()?,
        related: model.others().map(related).collect::<Result<_>>()?,
    })
}

fn sense(
    stored: &Stored,
    model: &data::Synset,
    position: usize,
    number: usize,
    word: Ref<Word>,
) -> Result<Sense> {
    let own = model.lexical.iter().filter(|pointer| pointer.from == number);
    let related = own.map(|pointer| {
        Ok(RelatedSense {
            kind: pointer.kind.clone(),
            to: *at(at(&stored.senses, pointer.target)?, pointer.to)?,
        })
    });
    Ok(Sense {
        form: at(&model.forms, number)?.clone(),
        word,
        synset: *at(&stored.synsets, position)?,
        related: related.collect::<Result<_>>()?,
    })
}

/// A word with its senses: in each of its synsets the forms that are it.
fn word(stored: &Stored, graph: &Graph, model: &data::Word) -> Result<Word> {
    let mut senses = Vec::new();
    for synset in &model.synsets {
        let forms = at(&graph.synsets, *synset)?
            .forms
            .iter()
            .zip(at(&stored.senses, *synset)?);
        let own = forms.filter(|(form, _)| form.to_lowercase() == model.lemma);
        senses.extend(own.map(|(_, sense)| *sense));
    }
    Ok(Word {
        lemma: model.lemma.clone(),
        part: model.part.to_string(),
        senses,
    })
}

fn at<T>(all: &[T], position: usize) -> Result<&T> {
    all.get(position).ok_or_else(|| {
        Error::NotFound(format!(
            "the graph refers to position {position}, where nothing is"
        ))
    })
}
