//! What of its objects an update depends on, told from its plan: for the comparison of what was read when it commits.

use rustc_hash::FxHashMap;

use super::expression::{Column, Expression, ExpressionKind, Slots};
use super::node::Plan;
use super::operator::Arithmetic;
use super::statement::{Assignment, Update};
use crate::catalog::{Catalog, MergeRule};
use crate::object::{ClassId, SlotSet};

impl Update {
    /// The slots, by class, that decide which objects the update changes and to what. Classes that are not listed may
    /// matter wholly: so do all of them where the update reads other objects than those it changes.
    ///
    /// A counter does not matter to its own increment (`n = n + e`, `n += e`, `n -= e`), nor a set with the rule `union` to
    /// members that are added to it (`s += e`).
    pub fn reads(&self, catalog: &Catalog) -> FxHashMap<ClassId, SlotSet> {
        let Some((classes, mut expressions)) = self.source() else {
            return FxHashMap::default();
        };
        for assignment in &self.assignments {
            let rule = classes.iter().find_map(|class| {
                let class = catalog.classes.get(class)?;
                class.attribute(&assignment.attribute)?.merge
            });
            expressions.push(self.added(assignment, rule).unwrap_or(&assignment.value));
        }
        let mut attributes = Vec::new();
        if !expressions
            .iter()
            .all(|expression| self.attributes(expression, &mut attributes))
        {
            return FxHashMap::default();
        }
        let slots = |class: &ClassId| -> SlotSet {
            attributes.iter().filter_map(|slots| slots.slot(*class)).collect()
        };
        classes.iter().map(|class| (*class, slots(class))).collect()
    }

    /// The classes of the objects, and the expressions that choose them; `None` where others are read.
    fn source(&self) -> Option<(&[ClassId], Vec<&Expression>)> {
        let mut expressions = Vec::new();
        let mut plan = &self.plan;
        while let Plan::Filter { input, predicate } = plan {
            expressions.push(predicate);
            plan = input;
        }
        let (Plan::Extent { column, classes, .. }
        | Plan::IndexScan { column, classes, .. }
        | Plan::IndexSet { column, classes, .. }
        | Plan::Objects { column, classes, .. }) = plan
        else {
            return None;
        };
        expressions.extend(plan.expressions());
        (*column == self.target).then_some((classes, expressions))
    }

    /// What a pure increment, or addition of members, adds.
    fn added<'a>(&self, assignment: &'a Assignment, rule: Option<MergeRule>) -> Option<&'a Expression> {
        let is_itself = |side: &Expression| match &side.kind {
            ExpressionKind::Attribute { base, name, .. } => {
                is_column(base, &self.target) && *name == assignment.attribute
            }
            _ => false,
        };
        match (rule?, &assignment.value.kind) {
            (
                MergeRule::Counter,
                ExpressionKind::Arithmetic {
                    operator,
                    left,
                    right,
                },
            ) => match operator {
                Arithmetic::Add | Arithmetic::Subtract if is_itself(left) => Some(right),
                Arithmetic::Add if is_itself(right) => Some(left),
                _ => None,
            },
            (
                MergeRule::Union,
                ExpressionKind::Include {
                    collection, value, ..
                },
            ) if is_itself(collection) => Some(value),
            _ => None,
        }
    }

    /// Collects the attributes of the target that an expression depends on; `false` where it depends on more.
    fn attributes<'a>(&self, expression: &'a Expression, attributes: &mut Vec<&'a Slots>) -> bool {
        use ExpressionKind as K;
        match &expression.kind {
            K::Attribute { base, slots, .. } if is_column(base, &self.target) => {
                attributes.push(slots);
                true
            }
            K::Constant(_) | K::Parameter { .. } => true,
            K::Negate(_)
            | K::Not(_)
            | K::And(_)
            | K::Or(_)
            | K::Coalesce(_)
            | K::Collection(_)
            | K::IsNil(_)
            | K::IsEmpty(_)
            | K::Require(_)
            | K::Arithmetic { .. }
            | K::Concatenate(..)
            | K::Compare { .. }
            | K::CompareMembers { .. }
            | K::Between { .. }
            | K::InSet { .. }
            | K::InList { .. }
            | K::InCollection { .. }
            | K::Like { .. }
            | K::LikeDynamic { .. }
            | K::Case { .. }
            | K::CaseOf { .. }
            | K::Include { .. }
            | K::Exclude { .. } => expression
                .children()
                .into_iter()
                .all(|child| is_column(child, &self.target) || self.attributes(child, attributes)),
            _ => false,
        }
    }
}

/// Whether an expression is the object itself, which is known without reading it.
fn is_column(expression: &Expression, column: &Column) -> bool {
    matches!(&expression.kind, ExpressionKind::Column(found) if found == column)
}
