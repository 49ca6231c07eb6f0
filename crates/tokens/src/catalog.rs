//! The catalog of models: windows, prices and rules, as data, with the operator's own on top.
//!
//! The data is `data/models.toml`. How a name becomes a row is in `name`, a row's form in `row`.

mod name;
mod row;

use crate::model::{ModelSpec, SpecSource, SpecValue, Vendor};
use name::Name;
use row::{ModelRow, Rows};
use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError, RwLock};

/// What is known of models.
///
/// ```
/// let catalog = epitome_tokens::Catalog::built_in();
/// let model = catalog.find("anthropic/claude-opus-4.5");
/// assert_eq!(model.window_tokens.value, 200_000);
/// ```
#[derive(Debug, Clone)]
pub struct Catalog {
    rows: Vec<(SpecSource, ModelRow)>,
    /// Every model, worked out when somebody first asks: a name is matched with all rows.
    models: OnceLock<Vec<ModelSpec>>,
    /// Models that were asked for lately, by the name they were asked for with.
    found: FoundModels,
}

/// Models by the names that callers have for them. A server asks for the same few with every request, and a name is matched with
/// all rows.
#[derive(Debug, Default)]
struct FoundModels(RwLock<HashMap<String, ModelSpec>>);

/// Names come from clients. So many are remembered; then all are forgotten, and matched again as they come.
const FOUND_MAX: usize = 256;

impl Clone for FoundModels {
    /// A copy may get rows of its own, by which it finds others.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl FoundModels {
    fn get(&self, id: &str) -> Option<ModelSpec> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    fn put(&self, id: &str, model: &ModelSpec) {
        let mut found = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if found.len() >= FOUND_MAX {
            found.clear();
        }
        found.insert(id.to_owned(), model.clone());
    }
}

/// Overrides that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("model overrides cannot be read; each is a `[[model]]` table with `match` and the values to replace")]
#[non_exhaustive]
pub struct CatalogError(#[from] toml::de::Error);

/// The window a name ending in `[1m]` asks for.
const ONE_MILLION_TOKENS: u64 = 1_000_000;

impl Catalog {
    /// The catalog that came with the program.
    #[must_use]
    pub fn built_in() -> &'static Self {
        static BUILT_IN: OnceLock<Catalog> = OnceLock::new();
        BUILT_IN.get_or_init(|| {
            Self { rows: Vec::new(), models: OnceLock::new(), found: FoundModels::default() }
                .with(include_str!("../data/models.toml"), SpecSource::Catalog)
                .expect("the built-in catalog is read by a test")
        })
    }

    /// This catalog with the operator's values on top. A `[[model]]` names what it matches and only
    /// what it changes; an unknown key is an error.
    ///
    /// # Errors
    /// Where the text is not such a list.
    pub fn with_overrides(&self, toml: &str) -> Result<Self, CatalogError> {
        self.clone().with(toml, SpecSource::Explicit)
    }

    fn with(mut self, toml: &str, source: SpecSource) -> Result<Self, CatalogError> {
        let rows = toml::from_str::<Rows>(toml)?;
        self.rows.extend(rows.model.into_iter().map(|row| (source, row)));
        (self.models, self.found) = (OnceLock::new(), FoundModels::default());
        Ok(self)
    }

    /// What is known of a model, by any of its usual spellings. One nobody knows comes back as a
    /// guess, marked as such.
    #[must_use]
    pub fn find(&self, id: &str) -> ModelSpec {
        self.found.get(id).unwrap_or_else(|| {
            let model = self.match_name(id);
            self.found.put(id, &model);
            model
        })
    }

    fn match_name(&self, id: &str) -> ModelSpec {
        let name = Name::of(id);
        let mut model = ModelSpec::guess(id);
        for source in [SpecSource::Catalog, SpecSource::Explicit] {
            if let Some(row) = self.longest_match(&name, source) {
                row.apply(source, &mut model);
            }
        }
        if name.is_one_million {
            model.window_tokens = SpecValue::new(ONE_MILLION_TOKENS, SpecSource::Explicit);
        }
        model
    }

    /// Every model of the catalog, by the first name of its row.
    pub fn models(&self) -> &[ModelSpec] {
        let names = self.rows.iter().filter_map(|(_, row)| row.names.first());
        self.models.get_or_init(|| names.map(|name| self.match_name(name)).collect())
    }

    /// The windows that models of a provider are had with, each once, smallest first; of all providers where nobody knows
    /// whose a model is.
    #[must_use]
    pub fn windows_of(&self, provider: Vendor) -> Vec<u64> {
        let is_theirs = |model: &&ModelSpec| provider == Vendor::Unknown || model.provider == provider;
        let all = |model: &ModelSpec| {
            [Some(model.window_tokens.value), model.beta_window.as_ref().map(|beta| beta.window)]
        };
        let mut windows: Vec<u64> = self.models().iter().filter(is_theirs).flat_map(all).flatten().collect();
        windows.sort_unstable();
        windows.dedup();
        windows
    }

    fn longest_match(&self, name: &Name, source: SpecSource) -> Option<&ModelRow> {
        let rows = self.rows.iter().filter(|(of, _)| *of == source);
        rows.filter_map(|(_, row)| Some((name.match_length(&row.names, &row.aliases)?, row)))
            .max_by_key(|&(length, _)| length)
            .map(|(_, row)| row)
    }
}
