//! Definitions of classes and indexes, as a program or a statement gives them.

use std::sync::Arc;

use super::merge::MergeRule;
use crate::error::{Error, Result};
use crate::object::{Type, Value};

/// The definition of a class, to be given to [`Database::define_class`](crate::Database::define_class).
///
/// ```
/// use olivine::{Class, Database, Type};
///
/// let db = Database::in_memory()?;
/// db.define_class(Class::new("Book").attribute("title", Type::String).attribute("year", Type::Int))?;
/// # Ok::<(), olivine::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ClassDefinition {
    /// The name.
    pub name: Arc<str>,
    /// The name of the class it extends.
    pub superclass: Option<Arc<str>>,
    /// Its own attributes; inherited ones may be repeated where the type agrees.
    pub attributes: Vec<AttributeDefinition>,
    /// Indexes to create with it.
    pub indexes: Vec<IndexDefinition>,
    /// Its own methods, whose texts the caller has checked.
    pub methods: Vec<super::Method>,
    /// Whether its objects live only while something reaches them; default false.
    pub dependent: bool,
}

/// The definition of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct AttributeDefinition {
    /// The name.
    pub name: Arc<str>,
    /// The type.
    pub r#type: Type,
    /// Whether nil is refused; default false.
    pub not_null: bool,
    /// The value where none is given; default nil.
    pub default: Value,
    /// The attribute of the class it refers to that is its inverse, which the engine keeps in step; default none.
    pub inverse: Option<Arc<str>>,
    /// What becomes of the object when the one it refers to here is deleted; default [`OnDelete::Leave`].
    pub on_delete: OnDelete,
    /// How changes that were made at the same time come together; default: they conflict.
    pub merge: Option<MergeRule>,
}

/// What becomes of the holder of a reference when the object it refers to is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnDelete {
    /// Nothing: the reference dangles, and a step through it gives nil.
    #[default]
    Leave,
    /// The delete is refused.
    Restrict,
    /// The reference becomes nil, or leaves its collection.
    Clear,
    /// The holder is deleted too.
    Cascade,
}

/// The definition of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexDefinition {
    /// Its name; made of class and attributes where none is given.
    pub name: Option<Arc<str>>,
    /// Paths of attributes, each with whether larger values come first.
    pub components: Vec<(Vec<Arc<str>>, bool)>,
    /// Whether no two objects may have the same value.
    pub unique: bool,
}

impl ClassDefinition {
    /// A class without attributes.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        ClassDefinition {
            name: name.into(),
            superclass: None,
            attributes: Vec::new(),
            indexes: Vec::new(),
            methods: Vec::new(),
            dependent: false,
        }
    }

    /// Makes it a subclass of `superclass`.
    #[must_use]
    pub fn extends(mut self, superclass: impl Into<Arc<str>>) -> Self {
        self.superclass = Some(superclass.into());
        self
    }

    /// Makes the class dependent: an object of it, or of a class below it, lives only while something reaches it. See
    /// [`Database::collect`](crate::Database::collect).
    #[must_use]
    pub fn dependent(mut self) -> Self {
        self.dependent = true;
        self
    }

    /// Adds an optional attribute.
    #[must_use]
    pub fn attribute(self, name: impl Into<Arc<str>>, r#type: Type) -> Self {
        self.attribute_definition(AttributeDefinition::new(name, r#type))
    }

    /// Adds an attribute that is never nil.
    #[must_use]
    pub fn required(self, name: impl Into<Arc<str>>, r#type: Type) -> Self {
        self.attribute_definition(AttributeDefinition {
            not_null: true,
            ..AttributeDefinition::new(name, r#type)
        })
    }

    /// Adds an attribute with a default.
    #[must_use]
    pub fn attribute_default(
        self,
        name: impl Into<Arc<str>>,
        r#type: Type,
        default: impl Into<Value>,
    ) -> Self {
        let default = default.into();
        self.attribute_definition(AttributeDefinition {
            default,
            ..AttributeDefinition::new(name, r#type)
        })
    }

    /// Adds an optional attribute whose changes come together by a rule where they are made at the same time. A counter
    /// begins with 0.
    ///
    /// ```
    /// use olivine::{Class, Database, MergeRule, Type};
    ///
    /// let page = Class::new("Page")
    ///     .attribute_merge("hits", Type::Int, MergeRule::Counter)
    ///     .attribute_merge("tags", Type::set(Type::String), MergeRule::Union);
    /// Database::in_memory()?.define_class(page)?;
    /// # Ok::<(), olivine::Error>(())
    /// ```
    #[must_use]
    pub fn attribute_merge(self, name: impl Into<Arc<str>>, r#type: Type, rule: MergeRule) -> Self {
        self.attribute_definition(AttributeDefinition {
            default: rule.beginning(),
            merge: Some(rule),
            ..AttributeDefinition::new(name, r#type)
        })
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute_definition(mut self, attribute: AttributeDefinition) -> Self {
        self.attributes.push(attribute);
        self
    }

    /// Adds an index on an attribute or a path (`"author.name"`).
    #[must_use]
    pub fn index(mut self, path: &str) -> Self {
        self.indexes.push(IndexDefinition::on(path));
        self
    }

    /// Adds a unique index on an attribute.
    #[must_use]
    pub fn unique(mut self, attribute: &str) -> Self {
        self.indexes.push(IndexDefinition {
            unique: true,
            ..IndexDefinition::on(attribute)
        });
        self
    }
}

impl AttributeDefinition {
    /// An optional attribute without a default.
    pub fn new(name: impl Into<Arc<str>>, r#type: Type) -> Self {
        AttributeDefinition {
            name: name.into(),
            r#type,
            not_null: false,
            default: Value::Nil,
            inverse: None,
            on_delete: OnDelete::Leave,
            merge: None,
        }
    }
}

impl IndexDefinition {
    /// An index on one attribute or path, ascending.
    pub fn on(path: &str) -> Self {
        IndexDefinition {
            name: None,
            components: vec![(split_path(path), false)],
            unique: false,
        }
    }

    /// An index on one attribute, whatever characters its name has.
    pub fn on_attribute(name: impl Into<Arc<str>>) -> Self {
        IndexDefinition {
            name: None,
            components: vec![(vec![name.into()], false)],
            unique: false,
        }
    }

    /// An index on several attributes, ascending, most significant first.
    pub fn on_all<'a>(attributes: impl IntoIterator<Item = &'a str>) -> Self {
        let components = attributes
            .into_iter()
            .map(|path| (split_path(path), false))
            .collect();
        IndexDefinition {
            name: None,
            components,
            unique: false,
        }
    }

    /// The name it gets on `class`.
    pub fn name_on(&self, class: &str) -> Arc<str> {
        let paths = self
            .components
            .iter()
            .map(|(path, _)| path.join("_"))
            .collect::<Vec<_>>();
        self.name
            .clone()
            .unwrap_or_else(|| format!("{class}_{}", paths.join("_")).into())
    }
}

fn split_path(path: &str) -> Vec<Arc<str>> {
    path.split('.').map(|step| step.trim().into()).collect()
}

/// Checks that `name` can name a class, attribute or index.
pub(super) fn check_name(kind: &str, name: &str) -> Result<()> {
    let problem = if name.is_empty() {
        "is empty"
    } else if name.len() > MAX_NAME_BYTES {
        "is longer than 255 bytes"
    } else if name.chars().any(char::is_control) {
        "has a control character in it"
    } else {
        return Ok(());
    };
    Err(Error::Schema(format!(
        "the {kind} name '{}' {problem}",
        name.escape_debug()
    )))
}

const MAX_NAME_BYTES: usize = 255;
