//! Names for models: a table people write, and what a name in it comes to.

use crate::{ApiKey, Credential, Effort, Provider, ProviderSetup, Service, World};
use epitome_tokens::{Catalog, SpecSource, SpecValue, Vendor};
use epitome_wire::Protocol;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A model by a short name. What is not said is as its provider usually has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alias {
    /// Who serves it.
    pub provider: Service,
    /// How it is spoken to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The model's name there.
    pub model: String,
    /// The environment variable the key is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// All it holds, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The longest answer it gives, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_max: Option<u64>,
    /// Whether it takes several calls at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<bool>,
    /// How hard it is to think before it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Effort>,
}

/// The table of aliases, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Aliases(pub BTreeMap<String, Alias>);

/// A name that comes to no provider.
#[derive(Debug, thiserror::Error)]
pub enum AliasError {
    /// Nothing has this name.
    #[error("there is no model alias `{name}`{}; name one of yours, or write provider/model, such as anthropic/claude-opus-4-5", nearest.as_ref().map(|it| format!(" (did you mean `{it}`?)")).unwrap_or_default())]
    Unknown {
        /// What was asked for.
        name: String,
        /// The name most like it.
        nearest: Option<String>,
    },
    /// Its key is not there.
    #[error("the key for `{name}` is not set; put it in the environment variable {env}")]
    NoKey {
        /// The alias.
        name: String,
        /// Where the key should be.
        env: String,
    },
    /// A key no header can carry.
    #[error(
        "the key for `{name}` in the environment variable {env} holds characters no key has; set it again"
    )]
    BadKey {
        /// The alias.
        name: String,
        /// Where the key is.
        env: String,
    },
    /// A provider without an address of its own.
    #[error("`{name}` has no address; give it a `base_url`")]
    NoAddress {
        /// The alias.
        name: String,
    },
    /// An address that is none.
    #[error("the `base_url` of `{name}` is no http address; write it as http://127.0.0.1:8000/v1")]
    BadAddress {
        /// The alias.
        name: String,
    },
    /// A name or password inside an address, where every line that names the address would show it.
    #[error(
        "the `base_url` of `{name}` holds a name or password; take it out, and name the variable that holds it in `key_env`"
    )]
    AddressWithPassword {
        /// The alias.
        name: String,
    },
}

/// Names further apart than this are not what anyone meant.
const TYPOS_MAX: usize = 3;

impl Aliases {
    /// The provider a name stands for: an alias, or `provider/model`. Keys are looked up through
    /// `environment`, and nowhere else.
    pub fn provider(
        &self,
        name: &str,
        catalog: &Catalog,
        environment: &dyn Fn(&str) -> Option<String>,
        world: &World,
    ) -> Result<Provider, AliasError> {
        let alias = self.find(name, catalog)?;
        let setup = alias.setup(name, catalog, environment)?;
        Ok(Provider::new(setup, world.clone()))
    }

    fn find(&self, name: &str, catalog: &Catalog) -> Result<Alias, AliasError> {
        let direct = || {
            let (service, model) = name.split_once('/').filter(|(_, model)| !model.is_empty())?;
            let service = Service::ALL.into_iter().find(|known| known.name() == service)?;
            Some(Alias::plain(service, model))
        };
        self.0.get(name).cloned().or_else(direct).ok_or_else(|| self.unknown(name, catalog))
    }

    fn unknown(&self, name: &str, catalog: &Catalog) -> AliasError {
        let distances = self.0.keys().map(|known| (distance(name, known), known));
        let near = distances.filter(|(distance, _)| *distance <= TYPOS_MAX).min();
        let nearest = near.map(|(_, known)| known.clone()).or_else(|| with_provider(name, catalog));
        AliasError::Unknown { name: name.to_owned(), nearest }
    }
}

/// A model of the catalog with the provider that its maker is; none where its name has one, or its maker is none we call.
fn with_provider(name: &str, catalog: &Catalog) -> Option<String> {
    let model = catalog.find(name);
    let service = match model.provider {
        Vendor::Anthropic => Service::Anthropic,
        Vendor::Openai => Service::Openai,
        Vendor::Google
        | Vendor::Meta
        | Vendor::Deepseek
        | Vendor::Alibaba
        | Vendor::Mistral
        | Vendor::Moonshot
        | Vendor::Zhipu
        | Vendor::Minimax
        | Vendor::Xai
        | Vendor::Unknown => return None,
    };
    (model.row.is_some() && !name.contains('/')).then(|| format!("{}/{name}", service.name()))
}

impl Alias {
    fn plain(provider: Service, model: &str) -> Self {
        Self {
            provider,
            protocol: None,
            base_url: None,
            model: model.to_owned(),
            key_env: None,
            window: None,
            output_max: None,
            parallel: None,
            reasoning: None,
        }
    }

    fn setup(
        &self,
        name: &str,
        catalog: &Catalog,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<ProviderSetup, AliasError> {
        let mut model = catalog.find(&self.model);
        model.id.clone_from(&self.model);
        let explicit = |value| SpecValue::new(value, SpecSource::Explicit);
        model.window_tokens = self.window.map_or(model.window_tokens, explicit);
        model.output_tokens_max = self.output_max.map(explicit).or(model.output_tokens_max);
        Ok(ProviderSetup {
            name: name.into(),
            service: self.provider.name().into(),
            protocol: self.protocol.unwrap_or(self.provider.protocol()),
            base_url: self.address(name)?.into(),
            model,
            credential: self.key(name, environment)?.map_or(Credential::Absent, Credential::Key),
            takes_parallel: self.parallel.unwrap_or(self.provider.takes_parallel()),
            reasoning: self.reasoning,
        })
    }

    fn address(&self, name: &str) -> Result<String, AliasError> {
        let given = self.base_url.as_deref().or(self.provider.base_url());
        let address = given.ok_or_else(|| AliasError::NoAddress { name: name.to_owned() })?;
        let parsed = reqwest::Url::parse(address).ok();
        if parsed.as_ref().is_some_and(|url| !url.username().is_empty() || url.password().is_some()) {
            return Err(AliasError::AddressWithPassword { name: name.to_owned() });
        }
        let is_http = parsed.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if is_http { Ok(address.to_owned()) } else { Err(AliasError::BadAddress { name: name.to_owned() }) }
    }

    /// A key that is named must be there; a service of one's own may need none.
    fn key(
        &self,
        name: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<ApiKey>, AliasError> {
        // The usual key belongs to the usual address, and is not sent to another.
        let usual = self.provider.key_env().filter(|_| self.base_url.is_none());
        let Some(env) = self.key_env.as_deref().or(usual) else { return Ok(None) };
        let (name, env_name) = (name.to_owned(), env.to_owned());
        match environment(env).filter(|text| !text.trim().is_empty()) {
            None => Err(AliasError::NoKey { name, env: env_name }),
            Some(text) => ApiKey::new(&text).map(Some).ok_or(AliasError::BadKey { name, env: env_name }),
        }
    }
}

/// How many letters must be changed, added or taken away to make one name the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut above_left = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = above_left + usize::from(x != *y);
            above_left = row[j + 1];
            row[j + 1] = changed.min(above_left + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
