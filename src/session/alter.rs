//! `alter class`, but for `add attribute`.

use super::answer::Outcome;
use super::define::{at, done, merge_rule, unsupported_at};
use super::definition::check_method_of;
use crate::catalog::{Alteration, MergeRule};
use crate::error::{Result, Span};
use crate::query::ast::{ClassChange, Name};
use crate::read::Reader;
use crate::transaction::Transaction;

/// Changes a class that exists.
pub(super) fn alter_class(class: &Name, change: &ClassChange, tx: &mut Transaction) -> Result<Outcome> {
    let Some((alteration, span, sentence)) = alteration(class, change) else {
        return Err(unsupported_at(class.span, "this change of a class").into());
    };
    if let ClassChange::AddMethod(definition) = change {
        let catalog = tx.overlay().catalog();
        check_method_of(catalog, catalog.user_class(&class.text)?, definition)?;
    }
    let report = tx
        .alter_class(&class.text, &alteration)
        .map_err(|error| at(error, span))?;
    Ok(done(match report.objects {
        0 => sentence,
        1 => format!("{sentence}, 1 object converted"),
        objects => format!("{sentence}, {objects} objects converted"),
    }))
}

/// What a change asks for, the place in the text that an error is about, and the sentence once it is done.
fn alteration(class: &Name, change: &ClassChange) -> Option<(Alteration, Span, String)> {
    Some(match change {
        ClassChange::Add(_) => return None,
        ClassChange::AddMethod(definition) => (
            Alteration::AddMethod(definition.kept()),
            definition.name.span,
            format!("method {} added to {}", definition.name.text, class.text),
        ),
        ClassChange::DropMethod(name) => (
            Alteration::DropMethod(name.text.clone()),
            name.span,
            format!("method {} dropped from {}", name.text, class.text),
        ),
        ClassChange::Drop(name) => (
            Alteration::Drop(name.text.clone()),
            name.span,
            format!("attribute {} dropped from {}", name.text, class.text),
        ),
        ClassChange::Rename { from, to } => (
            Alteration::Rename {
                from: from.text.clone(),
                to: to.text.clone(),
            },
            from.span,
            format!("attribute {} of {} renamed to {}", from.text, class.text, to.text),
        ),
        ClassChange::Retype {
            attribute,
            r#type,
            using,
        } => (
            Alteration::Retype {
                attribute: attribute.text.clone(),
                r#type: r#type.r#type.clone(),
                using: using.as_ref().map(|using| using.to_string().into()),
            },
            attribute.span,
            format!(
                "attribute {} of {} retyped to {}",
                attribute.text, class.text, r#type.r#type
            ),
        ),
        ClassChange::Merge { attribute, rule } => merge(class, attribute, *rule),
        ClassChange::Move { attribute, to } => moved(class, attribute, to),
        ClassChange::RenameClass(to) => (
            Alteration::RenameClass(to.text.clone()),
            to.span,
            format!("class {} renamed to {}", class.text, to.text),
        ),
        ClassChange::Dependent(dependent) => (
            Alteration::Dependent(*dependent),
            class.span,
            lifetime_sentence(class, *dependent),
        ),
        ClassChange::Extends(above) => (
            Alteration::Extends(Some(above.text.clone())),
            above.span,
            format!("class {} extends {}", class.text, above.text),
        ),
    })
}

fn lifetime_sentence(class: &Name, dependent: bool) -> String {
    match dependent {
        true => format!("class {} is dependent", class.text),
        false => format!("class {} is not dependent any more", class.text),
    }
}

fn moved(class: &Name, attribute: &Name, to: &Name) -> (Alteration, Span, String) {
    let (class, to) = (&class.text, to.text.clone());
    let sentence = format!("attribute {} of {class} moved to {to}", attribute.text);
    let alteration = Alteration::Move {
        attribute: attribute.text.clone(),
        to,
    };
    (alteration, attribute.span, sentence)
}

fn merge(
    class: &Name,
    attribute: &Name,
    rule: Option<crate::query::ast::MergeRule>,
) -> (Alteration, Span, String) {
    let rule = rule.map(merge_rule);
    let word = rule.map_or("none", MergeRule::word);
    let sentence = format!("attribute {} of {} merges by {word}", attribute.text, class.text);
    let alteration = Alteration::Merge {
        attribute: attribute.text.clone(),
        rule,
    };
    (alteration, attribute.span, sentence)
}
