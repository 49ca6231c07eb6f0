//! Rules that follow their files while a server runs: a change counts at the next check.

use crate::output;
use crate::session_ports::PortsBuilder;
use crate::settings::{Disk, Lookup};
use anyhow::Result;
use epitome_core::policy::Writer;
use epitome_server::{Caller, OwnModel, Rules, SessionRule};
use epitome_settings::{LivePolicy, ResolvedPolicy};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Names of models come from clients. So many have settings read for them; others share those for none.
const MODELS_MAX: usize = 256;

/// Settings as they are on disk.
pub(super) struct LiveRules {
    lookup: Lookup,
    ports: PortsBuilder,
    models: Mutex<HashMap<String, Followed>>,
    /// Notes on settings that were told, so that each is told once.
    noted: Mutex<HashSet<String>>,
}

/// The settings for one model, and the newest that could be used.
struct Followed {
    live: LivePolicy,
    /// What `rule` was made from.
    seen: Arc<ResolvedPolicy>,
    rule: SessionRule,
    /// What was said of settings that cannot be used, so that it is said once.
    told: Option<String>,
}

impl LiveRules {
    /// Refuses settings and summarisers that cannot be used.
    pub(super) fn open(lookup: Lookup, ports: PortsBuilder) -> Result<Self> {
        let rules = Self { lookup, ports, models: Mutex::default(), noted: Mutex::default() };
        let plain = rules.follow(None)?;
        rules.models.lock().unwrap_or_else(PoisonError::into_inner).insert(String::new(), plain);
        Ok(rules)
    }

    fn follow(&self, model: Option<&str>) -> Result<Followed> {
        let (watched, rest) = self.lookup.found(model)?;
        let mut live = LivePolicy::open(Arc::new(Disk), watched, rest)?;
        let seen = live.check().clone();
        let rule = self.rule(&seen)?;
        Ok(Followed { live, seen, rule, told: None })
    }

    fn rule(&self, resolved: &ResolvedPolicy) -> Result<SessionRule> {
        self.note(&resolved.notes);
        let ports = self.ports.ports(resolved)?.ports;
        Ok(SessionRule { policy: resolved.policy.clone(), ports, own_model: OwnModel::Unwanted })
    }

    /// Says what the operator should know of their settings.
    fn note(&self, notes: &[String]) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        for note in notes.iter().filter(|note| noted.insert((*note).clone())) {
            output::tell(format_args!("note: {note}"));
        }
    }

    /// The rule as the files are now; the last good one where they cannot be used.
    fn now(&self, followed: &mut Followed) -> SessionRule {
        let seen = followed.live.check().clone();
        let mut fault = followed.live.fault().map(ToString::to_string);
        if !Arc::ptr_eq(&seen, &followed.seen) {
            match self.rule(&seen) {
                Ok(rule) => followed.rule = rule,
                Err(error) => fault = Some(format!("{error:#}")),
            }
            followed.seen = seen;
        }
        if let Some(fault) = fault.filter(|fault| followed.told.as_ref() != Some(fault)) {
            output::tell(format_args!("epitome: {fault}; the settings before that stay in force"));
            followed.told = Some(fault);
        }
        followed.rule.clone()
    }
}

impl Rules for LiveRules {
    fn of(&self, caller: &Caller<'_>) -> SessionRule {
        let model = caller.model;
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if !models.contains_key(model)
            && models.len() < MODELS_MAX
            && let Ok(followed) = self.follow(Some(model))
        {
            models.insert(model.to_owned(), followed);
        }
        let name = if models.contains_key(model) { model } else { "" };
        let followed = models.get_mut(name).expect("the rules for no model are there from the start");
        let rule = self.now(followed);
        // The operator may have named a model that stands for every session's own.
        if rule.policy.summary.by != Writer::Session || rule.ports.model.is_some() {
            return rule;
        }
        let own_model = self.ports.own_model(&rule.policy, caller);
        SessionRule { own_model, ..rule }
    }
}
