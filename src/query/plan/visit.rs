//! Walking plans and expressions: what lies directly below a node, to read and to rewrite.

use super::expression::{Expression, ExpressionKind, SubqueryForm};
use super::node::{Access, Equal, Plan};

impl Expression {
    /// The expressions directly below this one, in evaluation order. Subqueries' plans are not entered.
    pub fn children(&self) -> Vec<&Expression> {
        use ExpressionKind as K;
        match &self.kind {
            K::Constant(_) | K::Parameter { .. } | K::Column(_) => Vec::new(),
            K::Attribute { base, .. } | K::DynamicAttribute { base, .. } | K::Field { base, .. } => {
                vec![base]
            }
            K::Negate(operand)
            | K::Not(operand)
            | K::Cast(operand)
            | K::IsNil(operand)
            | K::IsEmpty(operand)
            | K::IsDangling(operand)
            | K::Require(operand) => vec![operand],
            K::IsClass { value, .. }
            | K::Narrow { value, .. }
            | K::InSet { value, .. }
            | K::Like { value, .. } => {
                vec![value]
            }
            K::And(operands) | K::Or(operands) | K::Coalesce(operands) | K::Collection(operands) => {
                operands.iter().collect()
            }
            K::Call { arguments, .. } => arguments.iter().collect(),
            K::Struct(fields) => fields.iter().map(|(_, value)| value).collect(),
            K::MapOf(entries) => entries.iter().flat_map(|(key, value)| [key, value]).collect(),
            kind @ (K::Case { .. } | K::CaseOf { .. }) => kind.branches(),
            K::InList { value, members } => std::iter::once(value.as_ref()).chain(members).collect(),
            K::Aggregate { collection, .. } => vec![collection],
            K::Reverse { base, .. } => vec![base],
            K::Subquery(subquery) => subquery.form.operands(),
            kind => kind.operands(),
        }
    }

    /// The expressions directly below this one, in evaluation order. Subqueries' plans are not entered.
    pub fn children_mut(&mut self) -> Vec<&mut Expression> {
        use ExpressionKind as K;
        match &mut self.kind {
            K::Constant(_) | K::Parameter { .. } | K::Column(_) => Vec::new(),
            K::Attribute { base, .. } | K::DynamicAttribute { base, .. } | K::Field { base, .. } => {
                vec![base]
            }
            K::Negate(operand)
            | K::Not(operand)
            | K::Cast(operand)
            | K::IsNil(operand)
            | K::IsEmpty(operand)
            | K::IsDangling(operand)
            | K::Require(operand) => vec![operand],
            K::IsClass { value, .. }
            | K::Narrow { value, .. }
            | K::InSet { value, .. }
            | K::Like { value, .. } => {
                vec![value]
            }
            K::And(operands) | K::Or(operands) | K::Coalesce(operands) | K::Collection(operands) => {
                operands.iter_mut().collect()
            }
            K::Call { arguments, .. } => arguments.iter_mut().collect(),
            K::Struct(fields) => fields.iter_mut().map(|(_, value)| value).collect(),
            K::MapOf(entries) => entries.iter_mut().flat_map(|(key, value)| [key, value]).collect(),
            kind @ (K::Case { .. } | K::CaseOf { .. }) => kind.branches_mut(),
            K::InList { value, members } => std::iter::once(value.as_mut()).chain(members).collect(),
            K::Aggregate { collection, .. } => vec![collection],
            K::Reverse { base, .. } => vec![base],
            K::Subquery(subquery) => subquery.form.operands_mut(),
            kind => kind.operands_mut(),
        }
    }
}

impl ExpressionKind {
    /// The operands of what has two or three.
    fn operands(&self) -> Vec<&Expression> {
        use ExpressionKind as K;
        match self {
            K::Index { base, index } => vec![base, index],
            K::Slice { base, from, to } => {
                let bounds = [from.as_deref(), to.as_deref()];
                std::iter::once(base.as_ref())
                    .chain(bounds.into_iter().flatten())
                    .collect()
            }
            K::Arithmetic { left, right, .. }
            | K::Compare { left, right, .. }
            | K::SetOperation { left, right, .. }
            | K::Concatenate(left, right) => vec![left, right],
            K::CompareMembers { left, collection, .. } => vec![left, collection],
            K::Between { value, low, high } => vec![value, low, high],
            K::InCollection { value, collection } => vec![value, collection],
            K::LikeDynamic {
                value,
                pattern,
                escape,
                ..
            } => {
                let mut operands: Vec<&Expression> = vec![value, pattern];
                operands.extend(escape.as_deref());
                operands
            }
            K::Quantifier {
                collection,
                predicate,
                ..
            }
            | K::Select {
                collection,
                predicate,
                ..
            } => {
                vec![collection, predicate]
            }
            K::Map { collection, body, .. } => vec![collection, body],
            K::Closure { start, step, .. } => vec![start, step],
            K::Let { value, body, .. } => vec![value, body],
            K::Include {
                collection, value, ..
            }
            | K::Exclude {
                collection, value, ..
            } => vec![collection, value],
            _ => Vec::new(),
        }
    }

    /// The operands of a `case`.
    fn branches(&self) -> Vec<&Expression> {
        let mut children = Vec::new();
        let (branches, otherwise) = match self {
            ExpressionKind::Case { branches, otherwise } => (branches, otherwise),
            ExpressionKind::CaseOf {
                operand,
                branches,
                otherwise,
            } => {
                children.push(operand.as_ref());
                (branches, otherwise)
            }
            _ => return children,
        };
        for (condition, value) in branches {
            children.push(condition);
            children.push(value);
        }
        children.extend(otherwise.as_deref());
        children
    }

    /// The operands of what has two or three.
    fn operands_mut(&mut self) -> Vec<&mut Expression> {
        use ExpressionKind as K;
        match self {
            K::Index { base, index } => vec![base, index],
            K::Slice { base, from, to } => {
                let bounds = [from.as_deref_mut(), to.as_deref_mut()];
                std::iter::once(base.as_mut())
                    .chain(bounds.into_iter().flatten())
                    .collect()
            }
            K::Arithmetic { left, right, .. }
            | K::Compare { left, right, .. }
            | K::SetOperation { left, right, .. }
            | K::Concatenate(left, right) => vec![left, right],
            K::CompareMembers { left, collection, .. } => vec![left, collection],
            K::Between { value, low, high } => vec![value, low, high],
            K::InCollection { value, collection } => vec![value, collection],
            K::LikeDynamic {
                value,
                pattern,
                escape,
                ..
            } => {
                let mut operands: Vec<&mut Expression> = vec![value, pattern];
                operands.extend(escape.as_deref_mut());
                operands
            }
            K::Quantifier {
                collection,
                predicate,
                ..
            }
            | K::Select {
                collection,
                predicate,
                ..
            } => {
                vec![collection, predicate]
            }
            K::Map { collection, body, .. } => vec![collection, body],
            K::Closure { start, step, .. } => vec![start, step],
            K::Let { value, body, .. } => vec![value, body],
            K::Include {
                collection, value, ..
            }
            | K::Exclude {
                collection, value, ..
            } => vec![collection, value],
            _ => Vec::new(),
        }
    }

    /// The operands of a `case`.
    fn branches_mut(&mut self) -> Vec<&mut Expression> {
        let mut children = Vec::new();
        let (branches, otherwise) = match self {
            ExpressionKind::Case { branches, otherwise } => (branches, otherwise),
            ExpressionKind::CaseOf {
                operand,
                branches,
                otherwise,
            } => {
                children.push(operand.as_mut());
                (branches, otherwise)
            }
            _ => return children,
        };
        for (condition, value) in branches {
            children.push(condition);
            children.push(value);
        }
        children.extend(otherwise.as_deref_mut());
        children
    }
}

impl SubqueryForm {
    fn operands(&self) -> Vec<&Expression> {
        match self {
            SubqueryForm::In(value) => vec![value],
            SubqueryForm::Compare { left, .. } => vec![left],
            SubqueryForm::Element | SubqueryForm::Exists | SubqueryForm::Collection => Vec::new(),
        }
    }

    fn operands_mut(&mut self) -> Vec<&mut Expression> {
        match self {
            SubqueryForm::In(value) => vec![value],
            SubqueryForm::Compare { left, .. } => vec![left],
            SubqueryForm::Element | SubqueryForm::Exists | SubqueryForm::Collection => Vec::new(),
        }
    }
}

impl Plan {
    /// The nodes directly below this one, left to right.
    pub fn children(&self) -> Vec<&Plan> {
        match self {
            Plan::Unit
            | Plan::Values { .. }
            | Plan::Extent { .. }
            | Plan::CountExtent { .. }
            | Plan::IndexScan { .. }
            | Plan::IndexPath { .. }
            | Plan::IndexSet { .. }
            | Plan::Objects { .. } => Vec::new(),
            Plan::IndexCount { of, .. } => vec![of],
            Plan::Iterate { input, .. }
            | Plan::Walk { input, .. }
            | Plan::Fetch { input, .. }
            | Plan::Filter { input, .. }
            | Plan::Group { input, .. }
            | Plan::Sort { input, .. }
            | Plan::TopK { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Distinct { input, .. }
            | Plan::Project { input, .. } => vec![input],
            Plan::Join { left, right, .. }
            | Plan::HashJoin { left, right, .. }
            | Plan::Apply { left, right, .. } => vec![left, right],
            Plan::SetOperation { left, right, .. } => vec![&left.0, &right.0],
        }
    }

    /// The expressions of this node itself.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            Plan::Values { rows, .. } => rows.iter().flatten().collect(),
            Plan::IndexScan { access, .. } | Plan::IndexPath { access, .. } => access.expressions(),
            Plan::IndexSet { set, .. } => set.expressions(),
            Plan::Objects { references, .. } => references.iter().collect(),
            Plan::Iterate { collection, on, .. } => std::iter::once(collection).chain(on).collect(),
            Plan::Walk { closure, on, .. } => std::iter::once(closure).chain(on).collect(),
            Plan::Fetch { reference, .. } => vec![reference],
            Plan::Filter { predicate, .. } => vec![predicate],
            Plan::Join { on, .. } | Plan::Apply { on, .. } => on.iter().collect(),
            Plan::HashJoin { keys, on, .. } => keys
                .iter()
                .flat_map(|(left, right)| [left, right])
                .chain(on)
                .collect(),
            Plan::Group {
                keys,
                aggregates,
                partition,
                ..
            } => {
                let keys = keys.iter().map(|(_, key)| key);
                let arguments = aggregates
                    .iter()
                    .filter_map(|aggregate| aggregate.argument.as_ref());
                let fields = partition
                    .iter()
                    .flat_map(|partition| partition.fields.iter().map(|(_, field)| field));
                keys.chain(arguments).chain(fields).collect()
            }
            Plan::Sort { keys, .. } => keys.iter().map(|key| &key.expression).collect(),
            Plan::TopK {
                keys, limit, offset, ..
            } => {
                let keys = keys.iter().map(|key| &key.expression);
                keys.chain(std::iter::once(limit)).chain(offset).collect()
            }
            Plan::Limit { limit, offset, .. } => limit.iter().chain(offset).collect(),
            Plan::Project { columns, .. } => columns.iter().map(|(_, value)| value).collect(),
            _ => Vec::new(),
        }
    }

    /// The nodes directly below this one, left to right.
    pub fn children_mut(&mut self) -> Vec<&mut Plan> {
        match self {
            Plan::Unit
            | Plan::Values { .. }
            | Plan::Extent { .. }
            | Plan::CountExtent { .. }
            | Plan::IndexScan { .. }
            | Plan::IndexPath { .. }
            | Plan::IndexSet { .. }
            | Plan::Objects { .. } => Vec::new(),
            Plan::IndexCount { of, .. } => vec![of],
            Plan::Iterate { input, .. }
            | Plan::Walk { input, .. }
            | Plan::Fetch { input, .. }
            | Plan::Filter { input, .. }
            | Plan::Group { input, .. }
            | Plan::Sort { input, .. }
            | Plan::TopK { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Distinct { input, .. }
            | Plan::Project { input, .. } => vec![input],
            Plan::Join { left, right, .. }
            | Plan::HashJoin { left, right, .. }
            | Plan::Apply { left, right, .. } => vec![left, right],
            Plan::SetOperation { left, right, .. } => vec![&mut left.0, &mut right.0],
        }
    }

    /// The expressions of this node itself.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expression> {
        match self {
            Plan::Values { rows, .. } => rows.iter_mut().flatten().collect(),
            Plan::IndexScan { access, .. } | Plan::IndexPath { access, .. } => access.expressions_mut(),
            Plan::IndexSet { set, .. } => set.expressions_mut(),
            Plan::Objects { references, .. } => references.iter_mut().collect(),
            Plan::Iterate { collection, on, .. } => std::iter::once(collection).chain(on).collect(),
            Plan::Walk { closure, on, .. } => std::iter::once(closure).chain(on).collect(),
            Plan::Fetch { reference, .. } => vec![reference],
            Plan::Filter { predicate, .. } => vec![predicate],
            Plan::Join { on, .. } | Plan::Apply { on, .. } => on.iter_mut().collect(),
            Plan::HashJoin { keys, on, .. } => keys
                .iter_mut()
                .flat_map(|(left, right)| [left, right])
                .chain(on)
                .collect(),
            Plan::Group {
                keys,
                aggregates,
                partition,
                ..
            } => {
                let keys = keys.iter_mut().map(|(_, key)| key);
                let arguments = aggregates
                    .iter_mut()
                    .filter_map(|aggregate| aggregate.argument.as_mut());
                let fields = partition
                    .iter_mut()
                    .flat_map(|partition| partition.fields.iter_mut().map(|(_, field)| field));
                keys.chain(arguments).chain(fields).collect()
            }
            Plan::Sort { keys, .. } => keys.iter_mut().map(|key| &mut key.expression).collect(),
            Plan::TopK {
                keys, limit, offset, ..
            } => {
                let keys = keys.iter_mut().map(|key| &mut key.expression);
                keys.chain(std::iter::once(limit)).chain(offset).collect()
            }
            Plan::Limit { limit, offset, .. } => limit.iter_mut().chain(offset).collect(),
            Plan::Project { columns, .. } => columns.iter_mut().map(|(_, value)| value).collect(),
            _ => Vec::new(),
        }
    }
}

impl Access {
    /// The expressions in it.
    pub fn expressions(&self) -> Vec<&Expression> {
        let equal = self.equal.iter().filter_map(|equal| match equal {
            Equal::Value(value) => Some(value),
            Equal::Nil => None,
        });
        let among = self.among.iter().flatten().map(|(value, _)| value);
        let bounds = [&self.lower, &self.upper];
        let bounds = bounds.into_iter().flatten().map(|(bound, _)| bound);
        equal.chain(among).chain(bounds).collect()
    }

    /// The expressions in it.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expression> {
        let equal = self.equal.iter_mut().filter_map(|equal| match equal {
            Equal::Value(value) => Some(value),
            Equal::Nil => None,
        });
        let among = self.among.iter_mut().flatten().map(|(value, _)| value);
        let bounds = [&mut self.lower, &mut self.upper];
        let bounds = bounds.into_iter().flatten().map(|(bound, _)| bound);
        equal.chain(among).chain(bounds).collect()
    }
}
