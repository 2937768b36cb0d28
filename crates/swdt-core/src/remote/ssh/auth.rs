//! Logging in: keys from files, keys from an agent, a password.

use std::{path::Path, sync::Arc};

use russh::{
    MethodKind, MethodSet,
    client::{AuthResult, Handle, KeyboardInteractiveAuthResponse as Interactive},
    keys::{
        HashAlg, PrivateKey, PrivateKeyWithHashAlg, PublicKey,
        agent::{
            AgentIdentity,
            client::{AgentClient, AgentStream},
        },
    },
};
use secrecy::{ExposeSecret, SecretString};

use super::{Setback, host_key::describe, identity::Identities, route::Hop, session::Client};
use crate::{Error, id};

type Agent = AgentClient<Box<dyn AgentStream + Send + Unpin>>;

/// One login in the making.
pub(super) struct Login<'a> {
    handle: &'a mut Handle<Client>,
    hop: &'a Hop,
    /// What was offered, for the message when nothing helps.
    tried: Vec<String>,
    offered: Vec<PublicKey>,
    notes: Vec<String>,
    /// What the server would take, once it has told.
    methods: Option<MethodSet>,
    /// The hash for RSA signatures; asked of the server when first needed.
    rsa: Option<HashAlg>,
}

impl<'a> Login<'a> {
    pub(super) fn new(handle: &'a mut Handle<Client>, hop: &'a Hop) -> Self {
        Self {
            handle,
            hop,
            tried: Vec::new(),
            offered: Vec::new(),
            notes: Vec::new(),
            methods: None,
            rsa: None,
        }
    }

    /// Tries everything there is, in the order of ssh; a named key goes first.
    pub(super) async fn run(mut self, identities: &Identities) -> Result<(), Setback> {
        self.notes.extend(identities.notes.iter().cloned());
        match self.attempt(identities).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.refused()),
            Err(error) => Err(Setback::again(Error::new(
                id::CONNECTION_LOST,
                format!("the login at {} broke off: {error}", self.hop.place()),
            ))),
        }
    }

    async fn attempt(&mut self, identities: &Identities) -> Result<bool, russh::Error> {
        // The cheapest question that makes a server tell what it takes.
        if identities.public.is_empty() && self.hop.keys.agent.is_none() && self.hop.password.is_none() {
            let result = self.handle.authenticate_none(&self.hop.user).await?;
            return Ok(self.note(&result));
        }
        let named = self.hop.keys.named.is_some();
        Ok((named && self.files(identities).await?)
            || self.agent(identities).await?
            || (!named && self.files(identities).await?)
            || self.password().await?)
    }

    async fn files(&mut self, identities: &Identities) -> Result<bool, russh::Error> {
        for (path, key) in &identities.usable {
            if self.accepts(MethodKind::PublicKey) && self.file(path, key).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn file(&mut self, path: &Path, key: &Arc<PrivateKey>) -> Result<bool, russh::Error> {
        if self.repeated(key.public_key()) {
            return Ok(false);
        }
        self.tried.push(format!("key {} ({})", path.display(), describe(key.public_key())));
        let hash = self.hash_for(key.public_key()).await?;
        let key = PrivateKeyWithHashAlg::new(key.clone(), hash);
        let result = self.handle.authenticate_publickey(&self.hop.user, key).await?;
        Ok(self.note(&result))
    }

    async fn agent(&mut self, identities: &Identities) -> Result<bool, russh::Error> {
        let Some(socket) = &self.hop.keys.agent else { return Ok(false) };
        let mut agent = match connect_agent(socket).await {
            Ok(agent) => agent,
            Err(error) => {
                self.notes.push(format!("the agent at {} does not answer: {error}", socket.display()));
                return Ok(false);
            }
        };
        let keys = match agent.request_identities().await {
            Ok(keys) => keys,
            Err(error) => {
                self.notes.push(format!("the agent does not tell its keys: {error}"));
                return Ok(false);
            }
        };
        let known =
            |key: &PublicKey| identities.public.iter().any(|other| other.key_data() == key.key_data());
        for identity in keys {
            let AgentIdentity::PublicKey { key, comment } = identity else { continue };
            if (self.hop.keys.only_files && !known(&key))
                || !self.accepts(MethodKind::PublicKey)
                || self.repeated(&key)
            {
                continue;
            }
            self.tried.push(format!("agent key {comment} ({})", describe(&key)));
            let hash = self.hash_for(&key).await?;
            match self.handle.authenticate_publickey_with(&self.hop.user, key, hash, &mut agent).await {
                Ok(result) if self.note(&result) => return Ok(true),
                Ok(_) => {}
                Err(error) => self.notes.push(format!("the agent would not sign with {comment}: {error}")),
            }
        }
        Ok(false)
    }

    async fn password(&mut self) -> Result<bool, russh::Error> {
        let Some(password) = self.hop.password.clone() else { return Ok(false) };
        if self.accepts(MethodKind::Password) {
            self.tried.push("password".into());
            let result = self.handle.authenticate_password(&self.hop.user, password.expose_secret()).await?;
            if self.note(&result) {
                return Ok(true);
            }
        }
        if self.accepts(MethodKind::KeyboardInteractive) {
            self.tried.push("password, asked interactively".into());
            return self.interactive(&password).await;
        }
        Ok(false)
    }

    /// Answers the one hidden question that PAM asks with the password.
    async fn interactive(&mut self, password: &SecretString) -> Result<bool, russh::Error> {
        let user = self.hop.user.clone();
        let mut answer = self.handle.authenticate_keyboard_interactive_start(user, None).await?;
        let mut asked = false;
        loop {
            let prompts = match answer {
                Interactive::Success => return Ok(true),
                Interactive::Failure { .. } => return Ok(false),
                Interactive::InfoRequest { prompts, .. } => prompts,
            };
            let hidden = prompts.iter().filter(|prompt| !prompt.echo).count();
            if hidden > 1 || prompts.len() > hidden || (hidden == 1 && asked) {
                self.notes.push("the machine asks for more than a password".into());
                return Ok(false);
            }
            asked |= hidden == 1;
            let answers = prompts.iter().map(|_| password.expose_secret().to_owned()).collect();
            answer = self.handle.authenticate_keyboard_interactive_respond(answers).await?;
        }
    }

    fn note(&mut self, result: &AuthResult) -> bool {
        if let AuthResult::Failure { remaining_methods, .. } = result
            && !remaining_methods.is_empty()
        {
            self.methods = Some(remaining_methods.clone());
        }
        result.success()
    }

    fn accepts(&self, method: MethodKind) -> bool {
        !self.handle.is_closed() && self.methods.as_ref().is_none_or(|methods| methods.contains(&method))
    }

    fn repeated(&mut self, key: &PublicKey) -> bool {
        let known = self.offered.iter().any(|other| other.key_data() == key.key_data());
        if !known {
            self.offered.push(key.clone());
        }
        known
    }

    async fn hash_for(&mut self, key: &PublicKey) -> Result<Option<HashAlg>, russh::Error> {
        if !key.algorithm().is_rsa() {
            return Ok(None);
        }
        if self.rsa.is_none() {
            // A server that is silent, or knows SHA-1 only, gets SHA-2 all the same: never SHA-1.
            self.rsa = self.handle.best_supported_rsa_hash().await?.flatten().or(Some(HashAlg::Sha512));
        }
        Ok(self.rsa)
    }

    fn refused(self) -> Setback {
        let Hop { user, host, port, .. } = self.hop;
        let place = self.hop.place();
        let tried = if self.tried.is_empty() { "nothing to offer".into() } else { self.tried.join(", ") };
        let mut error =
            Error::new(id::LOGIN_REFUSED, format!("{place} does not let us in as {user}; tried: {tried}"));
        for note in self.notes {
            error = error.hinted(note);
        }
        if self.handle.is_closed() {
            error = error.hinted("the machine hung up, perhaps after too many keys; name one with `key:`");
        }
        if let Some(methods) = self.methods {
            let methods: Vec<_> = methods.iter().map(Into::<&'static str>::into).collect();
            error = error.hinted(format!("the machine would take: {}", methods.join(", ")));
        }
        Setback::again(error.hinted(format!(
            "does {user} exist there, with one of these keys in its authorized_keys (of administrators of Windows: \
             C:\\ProgramData\\ssh\\administrators_authorized_keys)? try: ssh -v -p {port} {user}@{host}",
        )))
    }
}

#[cfg(unix)]
async fn connect_agent(socket: &Path) -> Result<Agent, russh::keys::Error> {
    Ok(AgentClient::connect_uds(socket).await?.dynamic())
}

#[cfg(windows)]
async fn connect_agent(socket: &Path) -> Result<Agent, russh::keys::Error> {
    if socket == Path::new("pageant") {
        return Ok(AgentClient::connect_pageant().await?.dynamic());
    }
    Ok(AgentClient::connect_named_pipe(socket).await?.dynamic())
}
