//! A plan for people and programs: a tree of nodes with their text and, once it has run, what they did.

use std::fmt;

use super::explain::{node_text, statement_heads};
use super::expression::{Expression, ExpressionKind, Subquery};
use super::measures::{Measures, NodeId, Profile};
use super::node::Plan;
use super::statement::Statement;
use crate::object::Value;

/// The plan of a statement, what `explain` and `profile` show. Its `Display` is an indented tree, one node a line.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The topmost nodes.
    nodes: Vec<Node>,
    /// What the whole statement did, if it was run.
    total: Option<Measures>,
}

/// A node of an [`Explanation`].
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// What it is.
    pub text: String,
    /// What it did, if it was run.
    pub measures: Option<Measures>,
    /// Subqueries and inputs.
    pub below: Vec<Node>,
}

impl Explanation {
    /// The plan of a statement, with what its nodes did where it was run.
    pub fn of(statement: &Statement, profile: Option<&Profile>) -> Explanation {
        let mut nodes = statement_heads(statement);
        if let Some(plan) = statement.plan() {
            let tree = node(plan, profile);
            match nodes.last_mut() {
                Some(head) => head.below.push(tree),
                None => nodes.push(tree),
            }
        }
        Explanation {
            nodes,
            total: profile.map(|profile| profile.total),
        }
    }

    /// The plan of a part of a statement.
    pub(super) fn of_plan(plan: &Plan) -> Explanation {
        Explanation {
            nodes: vec![node(plan, None)],
            total: None,
        }
    }

    /// The tree as lines; the last one sums up, if the statement was run.
    pub fn lines(&self) -> Vec<String> {
        self.to_string().lines().map(str::to_owned).collect()
    }

    /// The tree as structs: of each node its operator, its text, its figures and the nodes below; around them the
    /// figures in sum, if the statement was run.
    pub fn to_value(&self) -> Value {
        let nodes = Value::list(self.nodes.iter().map(Node::to_value));
        let mut fields = vec![("plan", nodes)];
        if let Some(total) = &self.total {
            fields.push(("total", Value::structure(total.fields())));
        }
        Value::structure(fields)
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for node in &self.nodes {
            node.write(f, 0)?;
        }
        match &self.total {
            Some(total) => writeln!(f, "{}", total.summary()),
            None => Ok(()),
        }
    }
}

impl Node {
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        (0..depth).try_for_each(|_| f.write_str("  "))?;
        match &self.measures {
            Some(measures) => writeln!(f, "{}  [{measures}]", self.text)?,
            None => writeln!(f, "{}", self.text)?,
        }
        let below = depth.saturating_add(1);
        self.below.iter().try_for_each(|node| node.write(f, below))
    }

    fn to_value(&self) -> Value {
        let operator = self.text.split([' ', ':']).next().unwrap_or_default();
        let mut fields = vec![
            ("operator", Value::from(operator)),
            ("text", Value::from(self.text.as_str())),
        ];
        fields.extend(self.measures.iter().flat_map(Measures::fields));
        if !self.below.is_empty() {
            fields.push(("below", Value::list(self.below.iter().map(Node::to_value))));
        }
        Value::structure(fields)
    }
}

fn node(plan: &Plan, profile: Option<&Profile>) -> Node {
    let mut below = Vec::new();
    for expression in plan.expressions() {
        subqueries(expression, profile, &mut below);
    }
    below.extend(plan.children().into_iter().map(|child| node(child, profile)));
    let measures = profile.map(|profile| {
        let measures = profile.nodes.get(&NodeId::of(plan));
        measures.copied().unwrap_or_default()
    });
    Node {
        text: node_text(plan),
        measures,
        below,
    }
}

fn subqueries(expression: &Expression, profile: Option<&Profile>, nodes: &mut Vec<Node>) {
    if let ExpressionKind::Subquery(subquery) = &expression.kind {
        nodes.push(Node {
            text: heading(subquery),
            measures: None,
            below: vec![node(&subquery.query.plan, profile)],
        });
    }
    for child in expression.children() {
        subqueries(child, profile, nodes);
    }
}

fn heading(subquery: &Subquery) -> String {
    if subquery.outer.is_empty() {
        return format!("query {}, once:", subquery.number);
    }
    let outer: Vec<&str> = subquery.outer.iter().map(|column| &*column.name).collect();
    format!("query {}, for each {}:", subquery.number, outer.join(", "))
}
