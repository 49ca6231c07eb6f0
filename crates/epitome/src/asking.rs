//! Who is asked for summaries, as settings say it. Connections are made only where a model is asked; the
//! waiting is done elsewhere.

use crate::clock::WallClock;
use crate::output;
use crate::settings::{Places, prompt};
use anyhow::{Context as _, Result};
use epitome_core::policy::Writer;
use epitome_core::{Prompts, Tokens};
use epitome_engine::{Asks, Model, Report, SketchedCalls};
use epitome_provider::{Aliases, Provider, World};
use epitome_settings::Resolved;
use epitome_tokens::{Catalog, Usage};
use std::sync::{Arc, OnceLock};

/// Everything it takes to ask someone.
pub struct Asking {
    places: Places,
    catalog: Catalog,
    dry: Dry,
    world: OnceLock<World>,
}

/// Whether files may be written on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dry {
    /// Nothing is touched.
    Run,
    /// A prompt that is missing is written where it is looked for.
    No,
}

/// Who writes the summaries of a transcript.
#[derive(Clone, Default)]
pub struct Summarizer {
    /// A model; the embedded summariser where there is none.
    pub model: Option<Arc<Provider>>,
    prompts: Arc<Prompts>,
    /// What a person should know of the choice.
    note: Option<&'static str>,
}

/// Said where a policy wants the session's own model: a transcript comes without one.
const NO_SESSION: &str = "these settings leave the summary to the session's own model, and a file has none: \
                          the embedded summariser wrote it; name a model with --summarizer";

impl Asking {
    /// Whoever can be asked, with prompts from `places`.
    pub fn new(places: Places, catalog: Catalog, dry: Dry) -> Self {
        Self { places, catalog, dry, world: OnceLock::new() }
    }

    /// Who writes summaries by these settings.
    pub fn summarizer(&self, resolved: &Resolved) -> Result<Summarizer> {
        match &resolved.policy.summary.by {
            Writer::Embedded | Writer::Nobody => Ok(Summarizer::default()),
            Writer::Session => Ok(Summarizer { note: Some(NO_SESSION), ..Summarizer::default() }),
            Writer::Alias(name) => self.model(name, resolved),
        }
    }

    /// Refuses a summariser that cannot be asked.
    pub fn check(&self, resolved: &Resolved) -> Result<()> {
        match &resolved.policy.summary.by {
            Writer::Embedded | Writer::Nobody | Writer::Session => Ok(()),
            Writer::Alias(name) => self.provider(name, resolved).map(drop),
        }
    }

    fn model(&self, name: &str, resolved: &Resolved) -> Result<Summarizer> {
        let model = Some(Arc::new(self.provider(name, resolved)?));
        let prompts = Arc::new(self.prompts(&resolved.policy.summary.prompt)?);
        Ok(Summarizer { model, prompts, note: None })
    }

    fn provider(&self, name: &str, resolved: &Resolved) -> Result<Provider> {
        let aliases: Aliases =
            resolved.aliases.clone().try_into().context("[alias] of epitome.toml cannot be used")?;
        // A dry run calls nobody, so it needs no key.
        let unused = || (self.dry == Dry::Run).then(|| "unused".to_owned());
        let environment = |name: &str| std::env::var(name).ok().or_else(unused);
        Ok(aliases.provider(name, &self.catalog, &environment, self.world()?)?)
    }

    fn prompts(&self, name: &str) -> Result<Prompts> {
        match self.dry {
            Dry::Run => prompt::peek(&self.places, name),
            Dry::No => {
                let found = prompt::load(&self.places, name)?;
                if let Some(file) = found.file.filter(|_| found.is_new) {
                    output::tell(format_args!(
                        "wrote {}: the prompt for summaries, yours to change",
                        file.display()
                    ));
                }
                Ok(found.prompts)
            }
        }
    }

    fn world(&self) -> Result<&World> {
        if let Some(world) = self.world.get() {
            return Ok(world);
        }
        let world = World::new(Arc::new(WallClock::start()))?;
        Ok(self.world.get_or_init(|| world))
    }
}

impl Summarizer {
    /// A session's means with this summariser.
    pub fn asks(&self) -> Asks {
        let model = self.model.clone().map(|provider| provider as Arc<dyn Model>);
        Asks { model, prompts: self.prompts.clone(), ..Asks::default() }
    }

    /// Puts what a person should know into a record.
    pub fn annotate(&self, report: &mut Report) {
        let Some(made) = &mut report.record else { return };
        made.notes.extend(self.note.filter(|_| made.summary.is_some()).map(str::to_owned));
    }

    /// Whether what its calls cost is known.
    pub fn is_priced(&self) -> bool {
        self.model.as_ref().is_some_and(|provider| provider.prices().is_some())
    }

    /// The most that calls may cost, in dollars, where that is known.
    pub fn cost_max(&self, calls: &SketchedCalls) -> Option<f64> {
        let (Tokens(input), Tokens(output_max)) = (calls.input, calls.output_max);
        let count = calls.calls.max(1);
        let one = Usage { prompt: input / count, output: output_max / count, ..Usage::default() };
        let prices = self.model.as_ref()?.prices()?;
        Some(prices.cost(&one) * count as f64)
    }
}
