//! The OO7 design as plain vectors, generated in the order of random draws of the original.
//!
//! The order matters, for the published counts hold only for it. `srandom(seed)` first; then for each module its
//! type and date, and its assembly tree depth first, each assembly drawing its type and date before its children; a
//! base assembly goes on to draw its private composite parts from the library of its module and then its shared ones
//! from all libraries. After all modules come the composite parts in order of id: type and date; for each of its
//! atomic parts type, date, x, y and document id; and for each atomic part in turn, for each connection but the
//! first, whose target is the next part of a ring, the number of its target, and then its type and length.
//!
//! Everything is addressed by position from 0; the benchmark's ids are the positions plus one.

use super::scale::Scale;
use crate::bench::random::Random;

/// Children of a complex assembly.
const ASSEMBLIES_PER_ASSEMBLY: usize = 3;
/// Private composite parts of a base assembly, and as many shared ones.
const COMPONENTS_PER_ASSEMBLY: usize = 3;
/// Different type names.
const TYPES: u32 = 10;
/// Dates of modules, assemblies and atomic parts start here and span [`DATES`]; old composite parts start at 0, young
/// ones at [`YOUNG`].
const FIRST_DATE: i64 = 1_000;
/// Dates in a range.
const DATES: u32 = 1_000;
/// The first date of young composite parts.
const YOUNG: i64 = 2_000;
/// One composite part in this many is young.
const YOUNG_FRACTION: usize = 10;
/// Bound of coordinates and of connection lengths.
const COORDINATES: u32 = 100_000;
/// Composite parts that S1 inserts and S2 deletes.
pub const INSERTED: usize = 10;

/// What all design objects have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Common {
    /// The number of its type, `0..10`.
    pub kind: u32,
    /// The build date.
    pub date: i64,
}

/// A module.
#[derive(Debug, Clone)]
pub struct Module {
    /// Type and date.
    pub common: Common,
    /// Its manual's text.
    pub manual: String,
    /// Position of the root of its assembly tree.
    pub root: usize,
}

/// An inner assembly.
#[derive(Debug, Clone)]
pub struct Complex {
    /// Type and date.
    pub common: Common,
    /// Position of its module.
    pub module: usize,
    /// Position of its parent, if it is not a root.
    pub parent: Option<usize>,
    /// Positions of its children: of complex assemblies, or on the last level but one of base assemblies.
    pub children: Children,
}

/// The children of a complex assembly.
#[derive(Debug, Clone)]
pub enum Children {
    /// Complex assemblies.
    Complex(Vec<usize>),
    /// Base assemblies.
    Base(Vec<usize>),
}

/// A leaf of the assembly tree.
#[derive(Debug, Clone)]
pub struct Base {
    /// Type and date.
    pub common: Common,
    /// Position of its module.
    pub module: usize,
    /// Position of its parent.
    pub parent: usize,
    /// Positions of its private composite parts, as often as it uses each.
    pub private: Vec<usize>,
    /// Positions of its shared composite parts, as often as it uses each.
    pub shared: Vec<usize>,
}

/// A composite part; its atomic parts are a run of positions whose first is the root part.
#[derive(Debug, Clone)]
pub struct Composite {
    /// Type and date.
    pub common: Common,
    /// Its document's text.
    pub document: String,
    /// Position of its root part.
    pub root: usize,
    /// Positions of the base assemblies that use it as a private part, once a use.
    pub used_private: Vec<usize>,
    /// Positions of the base assemblies that use it as a shared part, once a use.
    pub used_shared: Vec<usize>,
}

/// An atomic part; the connections that leave it are a run of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Atomic {
    /// Type and date.
    pub common: Common,
    /// Horizontal coordinate.
    pub x: i64,
    /// Vertical coordinate.
    pub y: i64,
    /// The id of a random document.
    pub document: i64,
    /// Position of the composite part it belongs to.
    pub part_of: usize,
}

/// A connection between two atomic parts of one composite part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The number of its type.
    pub kind: u32,
    /// Its length.
    pub length: i64,
    /// Position of the part it leaves.
    pub from: usize,
    /// Position of the part it reaches.
    pub to: usize,
}

/// The whole design.
#[derive(Debug, Clone)]
pub struct Design {
    /// The parameters it was made with.
    pub scale: Scale,
    /// The seed it was made with, and every random operation starts from.
    pub seed: u32,
    /// All modules.
    pub modules: Vec<Module>,
    /// All complex assemblies, parents before their children.
    pub complexes: Vec<Complex>,
    /// All base assemblies.
    pub bases: Vec<Base>,
    /// All composite parts.
    pub composites: Vec<Composite>,
    /// All atomic parts.
    pub atomics: Vec<Atomic>,
    /// All connections.
    pub connections: Vec<Connection>,
}

impl Design {
    /// Generates the design of this scale and seed.
    pub fn generate(scale: Scale, seed: u32) -> Design {
        let mut design = Design {
            scale,
            seed,
            modules: Vec::new(),
            complexes: Vec::new(),
            bases: Vec::new(),
            composites: Vec::new(),
            atomics: Vec::new(),
            connections: Vec::new(),
        };
        let mut random = Random::new(seed);
        for _ in 0..scale.modules {
            design.add_module(&mut random);
        }
        for _ in 0..scale.composites() {
            design.add_composite(&mut random);
        }
        design.connect_users();
        design
    }

    /// The name of type `kind`, at most ten characters.
    pub fn type_name(kind: u32) -> String {
        format!("type{:03}", kind + 1)
    }

    /// The title of the document of composite part `id`.
    pub fn document_title(id: usize) -> String {
        format!("Composite Part {id:08}")
    }

    /// The positions of the connections that leave an atomic part.
    pub fn leaving(&self, atomic: usize) -> std::ops::Range<usize> {
        let connections = self.scale.connections_per_atomic;
        atomic * connections..(atomic + 1) * connections
    }

    /// S1: inserts ten composite parts, each used as a private part by one random base assembly.
    pub fn insert(&mut self) -> usize {
        let before = self.objects();
        let mut random = Random::new(self.seed);
        for _ in 0..INSERTED {
            let composite = self.add_composite(&mut random);
            let base = random.position(self.bases.len());
            if let Some(base) = self.bases.get_mut(base) {
                base.private.push(composite);
            }
            if let Some(composite) = self.composites.get_mut(composite) {
                composite.used_private.push(base);
            }
        }
        self.objects() - before
    }

    /// S2: deletes what [`insert`](Design::insert) added, with every use of it.
    pub fn delete(&mut self) -> usize {
        let before = self.objects();
        let kept = self.composites.len().saturating_sub(INSERTED);
        for composite in self.composites.drain(kept..) {
            for base in composite.used_private {
                if let Some(base) = self.bases.get_mut(base) {
                    base.private.retain(|used| *used < kept);
                }
            }
        }
        self.atomics.truncate(kept * self.scale.atomic_per_composite);
        self.connections
            .truncate(self.atomics.len() * self.scale.connections_per_atomic);
        before - self.objects()
    }

    /// The number of all objects, documents and manuals included.
    pub fn objects(&self) -> usize {
        2 * self.modules.len()
            + self.complexes.len()
            + self.bases.len()
            + 2 * self.composites.len()
            + self.atomics.len()
            + self.connections.len()
    }

    fn add_module(&mut self, random: &mut Random) {
        let module = self.modules.len();
        let common = draw_common(random, FIRST_DATE);
        let line = format!("I am the manual for module #{:08}.\n", module + 1);
        let root = self.complexes.len();
        self.modules.push(Module {
            common,
            manual: fill(&line, self.scale.manual_size),
            root,
        });
        self.add_complex(random, module, None, 1);
    }

    fn add_complex(
        &mut self,
        random: &mut Random,
        module: usize,
        parent: Option<usize>,
        level: usize,
    ) -> usize {
        let complex = self.complexes.len();
        self.complexes.push(Complex {
            common: draw_common(random, FIRST_DATE),
            module,
            parent,
            children: Children::Base(Vec::new()),
        });
        let mut children = Vec::with_capacity(ASSEMBLIES_PER_ASSEMBLY);
        let of_bases = level + 1 >= self.scale.levels;
        for _ in 0..ASSEMBLIES_PER_ASSEMBLY {
            children.push(if of_bases {
                self.add_base(random, module, complex)
            } else {
                self.add_complex(random, module, Some(complex), level + 1)
            });
        }
        if let Some(complex) = self.complexes.get_mut(complex) {
            complex.children = if of_bases {
                Children::Base(children)
            } else {
                Children::Complex(children)
            };
        }
        complex
    }

    fn add_base(&mut self, random: &mut Random, module: usize, parent: usize) -> usize {
        let base = self.bases.len();
        let common = draw_common(random, FIRST_DATE);
        let library = module * self.scale.composites_per_module;
        let private = (0..COMPONENTS_PER_ASSEMBLY)
            .map(|_| library + random.position(self.scale.composites_per_module))
            .collect();
        let shared = (0..COMPONENTS_PER_ASSEMBLY)
            .map(|_| random.position(self.scale.composites()))
            .collect();
        self.bases.push(Base {
            common,
            module,
            parent,
            private,
            shared,
        });
        base
    }

    fn add_composite(&mut self, random: &mut Random) -> usize {
        let composite = self.composites.len();
        let id = composite + 1;
        let young = id.is_multiple_of(YOUNG_FRACTION);
        let common = draw_common(random, if young { YOUNG } else { 0 });
        let line = format!("I am the documentation for composite part #{id:08}.\n");
        let root = self.atomics.len();
        self.composites.push(Composite {
            common,
            document: fill(&line, self.scale.document_size),
            root,
            used_private: Vec::new(),
            used_shared: Vec::new(),
        });
        for _ in 0..self.scale.atomic_per_composite {
            let atomic = self.draw_atomic(random, composite);
            self.atomics.push(atomic);
        }
        for from in 0..self.scale.atomic_per_composite {
            self.connect(random, root, from);
        }
        composite
    }

    fn draw_atomic(&self, random: &mut Random, part_of: usize) -> Atomic {
        Atomic {
            common: draw_common(random, FIRST_DATE),
            x: i64::from(random.below(COORDINATES)),
            y: i64::from(random.below(COORDINATES)),
            document: position_to_id(random.position(self.scale.composites())),
            part_of,
        }
    }

    /// Adds the connections that leave part `from` of the composite part whose root part is at `root`.
    fn connect(&mut self, random: &mut Random, root: usize, from: usize) {
        let parts = self.scale.atomic_per_composite;
        for i in 0..self.scale.connections_per_atomic {
            let to = if i == 0 {
                (from + 1) % parts
            } else {
                random.position(parts)
            };
            self.connections.push(Connection {
                kind: random.below(TYPES),
                length: i64::from(random.below(COORDINATES)),
                from: root + from,
                to: root + to,
            });
        }
    }

    /// Enters every use of a composite part there.
    fn connect_users(&mut self) {
        for (position, base) in self.bases.iter().enumerate() {
            for used in &base.private {
                if let Some(composite) = self.composites.get_mut(*used) {
                    composite.used_private.push(position);
                }
            }
            for used in &base.shared {
                if let Some(composite) = self.composites.get_mut(*used) {
                    composite.used_shared.push(position);
                }
            }
        }
    }
}

/// The id of what stands at `position`.
pub fn position_to_id(position: usize) -> i64 {
    i64::try_from(position).map_or(i64::MAX, |position| position + 1)
}

fn draw_common(random: &mut Random, first_date: i64) -> Common {
    let kind = random.below(TYPES);
    Common {
        kind,
        date: first_date + i64::from(random.below(DATES)),
    }
}

/// `line` over and over, cut where a C string in `size` bytes ends.
fn fill(line: &str, size: usize) -> String {
    line.chars().cycle().take(size.saturating_sub(1)).collect()
}
