//! The classes of OO1 as Rust types: a part holds its connections, and the parts whose connections reach it.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::{Database, Ref};

/// A part.
#[derive(Debug, Serialize, Deserialize)]
pub struct Part {
    /// The benchmark's own number.
    pub id: i64,
    /// One of ten names.
    pub r#type: String,
    /// Horizontal coordinate.
    pub x: i64,
    /// Vertical coordinate.
    pub y: i64,
    /// Build date, in days.
    pub build: i64,
    /// The connections that leave it.
    pub to: Vec<Link>,
    /// The parts whose connections reach it, once a connection.
    pub from: Vec<Ref<Part>>,
}

/// A connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Link {
    /// The part it reaches.
    pub part: Ref<Part>,
    /// One of ten names.
    pub r#type: String,
    /// Its length.
    pub length: i64,
}

/// What a traversal decodes of a part.
#[derive(Debug, Deserialize)]
#[serde(rename = "Part")]
pub struct Forward {
    /// See [`Part::x`].
    pub x: i64,
    /// See [`Part::y`].
    pub y: i64,
    /// See [`Part::type`].
    pub r#type: String,
    /// See [`Part::to`].
    pub to: Vec<End>,
}

/// What a traversal decodes of a connection.
#[derive(Debug, Deserialize)]
pub struct End {
    /// See [`Link::part`].
    pub part: Ref<Part>,
}

/// What a reverse traversal decodes of a part.
#[derive(Debug, Deserialize)]
#[serde(rename = "Part")]
pub struct Backward {
    /// See [`Part::x`].
    pub x: i64,
    /// See [`Part::y`].
    pub y: i64,
    /// See [`Part::type`].
    pub r#type: String,
    /// See [`Part::from`].
    pub from: Vec<Ref<Part>>,
}

/// Defines the class and its index.
pub fn define(database: &Database) -> Result<()> {
    database.define::<Part>()?.unique("id")?;
    Ok(())
}
