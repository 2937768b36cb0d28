//! From a node of the spec to a connection.

use std::{path::Path, sync::Arc, time::Duration};

use secrecy::SecretString;

use super::{Host, Run};
use crate::{
    Error, ErrorKind, Result,
    event::Reporter,
    remote::{Agent, AgentOptions, Connect, SshConnector, SshOptions, Transport},
    spec::{Connection, Node, PasswordFrom, Place, Spec},
};
