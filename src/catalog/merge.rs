//! Merge rules: how changes of an attribute that were made at the same time come together.
//!
//! What a rule means when transactions commit is worked out in `commit/merge.rs`; here it is declared, shown and changed.

use super::define::SchemaChange;
use super::schema::{Attribute, Catalog, Class, IndexKind};
use crate::error::{Error, Result};
use crate::object::{Type, Value};

/// How changes of one attribute that were made at the same time come together, instead of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MergeRule {
    /// Increments add up: what a transaction changes is the difference to the value it started from. For `int` and
    /// `decimal`.
    Counter,
    /// Members that are added come together in one set. For `set<T>`.
    Union,
}

impl MergeRule {
    /// The word it is declared by.
    pub fn word(self) -> &'static str {
        match self {
            MergeRule::Counter => "counter",
            MergeRule::Union => "union",
        }
    }

    /// The rule that is declared by a word.
    pub fn of_word(word: &str) -> Option<MergeRule> {
        match word {
            "counter" => Some(MergeRule::Counter),
            "union" => Some(MergeRule::Union),
            _ => None,
        }
    }

    /// The default of an attribute that is declared with the rule and without a default.
    pub fn beginning(self) -> Value {
        match self {
            MergeRule::Counter => Value::Int(0),
            MergeRule::Union => Value::Nil,
        }
    }
}

/// Refuses rules that do not fit a type.
pub fn check_merge(class: &str, name: &str, r#type: &Type, rule: Option<MergeRule>) -> Result<()> {
    let fits = match (rule, r#type) {
        (None, _) | (Some(MergeRule::Counter), Type::Int | Type::Decimal) => true,
        (Some(MergeRule::Union), r#type) => matches!(r#type, Type::Set(_)),
        (Some(MergeRule::Counter), _) => false,
    };
    if fits {
        return Ok(());
    }
    let what = match rule {
        Some(MergeRule::Union) => "union fits sets only",
        _ => "counter fits int and decimal only, whose sums do not depend on their order",
    };
    Err(Error::Schema(format!("{class}.{name} is of type {type}: {what}")))
}

/// Refuses a unique index on an attribute that has a rule: what comes together was in no transaction, which could have
/// been told that the value is taken.
pub fn refuse_unique(class: &str, attribute: &Attribute) -> Result<()> {
    match attribute.merge {
        Some(rule) => Err(Error::Schema(format!(
            "{class}.{} is declared {}, so it cannot be unique",
            attribute.name,
            rule.word()
        ))),
        None => Ok(()),
    }
}

impl Catalog {
    /// Gives an attribute a merge rule, or takes it away.
    ///
    /// # Errors
    /// [`Error::Schema`] where the rule does not fit the attribute.
    pub fn set_merge_rule(
        &self,
        class: &Class,
        name: &str,
        rule: Option<MergeRule>,
    ) -> Result<Vec<SchemaChange>> {
        let attribute = self.declared(class, name)?;
        if attribute.merge == rule {
            return Ok(Vec::new());
        }
        check_merge(&class.name, name, &attribute.r#type, rule)?;
        let mut unique = self.indexes_on(class, attribute).into_iter();
        if let (Some(index), Some(rule)) = (unique.find(|index| index.kind == IndexKind::Unique), rule) {
            return Err(Error::Schema(format!(
                "the unique index {} is on {}.{name}, which cannot be declared {}",
                index.name,
                class.name,
                rule.word()
            )));
        }
        let word = rule.map_or("none", MergeRule::word);
        let change = format!("attribute {}.{} merges by {word}", class.name, attribute.name);
        self.edit_slots(class, name, &change, &|stored, slot| {
            if let Some(slot) = stored.slots.get_mut(slot) {
                slot.merge = rule;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_fit_some_types_only() {
        let check = |r#type: Type, rule| check_merge("C", "a", &r#type, Some(rule)).is_ok();
        assert!(check(Type::Int, MergeRule::Counter) && check(Type::Decimal, MergeRule::Counter));
        assert!(check(Type::set(Type::Int), MergeRule::Union));
        assert!(!check(Type::Float, MergeRule::Counter));
        assert!(!check(Type::list(Type::Int), MergeRule::Union));
        for rule in [MergeRule::Counter, MergeRule::Union] {
            assert_eq!(MergeRule::of_word(rule.word()), Some(rule));
        }
    }
}
