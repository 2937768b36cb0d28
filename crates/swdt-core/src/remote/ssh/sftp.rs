//! Files by SFTP: only for a machine on which no shell can be relied on.

use russh::{Channel, client::Msg};
use russh_sftp::{
    client::{SftpSession, error::Error as SftpError},
    protocol::{OpenFlags, StatusCode},
};
use tokio::io::AsyncWriteExt;

use crate::{Error, Result, id};

/// Writes a file into the directory where commands start, or removes it if it is there.
pub(super) async fn leave(
    channel: Channel<Msg>,
    place: &str,
    name: &str,
    bytes: Option<&[u8]>,
) -> Result<()> {
    channel.request_subsystem(true, "sftp").await.map_err(|error| none(place, &error.to_string()))?;
    let sftp =
        SftpSession::new(channel.into_stream()).await.map_err(|error| none(place, &error.to_string()))?;
    let done = match bytes {
        Some(bytes) => write(&sftp, name, bytes).await,
        None => match sftp.remove_file(name).await {
            Err(SftpError::Status(status)) if status.status_code == StatusCode::NoSuchFile => Ok(()),
            removed => removed.map_err(|error| error.to_string()),
        },
    };
    // Whatever it says: the file is there or not.
    let _ = sftp.close().await;
    done.map_err(|why| {
        let what = if bytes.is_some() { "written" } else { "removed" };
        Error::new(id::FILE_NOT_SENT, format!("{name} could not be {what} on {place} by SFTP: {why}"))
            .hinted("is there room on its disk, and may this user write to its own home directory?")
    })
}

async fn write(sftp: &SftpSession, name: &str, bytes: &[u8]) -> Result<(), String> {
    let flags = OpenFlags::CREATE | OpenFlags::TRUNCATE | OpenFlags::WRITE;
    let mut file = sftp.open_with_flags(name, flags).await.map_err(|error| error.to_string())?;
    file.write_all(bytes).await.map_err(|error| error.to_string())?;
    // Closes the file, and hears about what went wrong so far.
    file.shutdown().await.map_err(|error| error.to_string())
}

fn none(place: &str, why: &str) -> Error {
    Error::new(id::SFTP_MISSING, format!("the SSH server of {place} has no SFTP ({why})")).hinted(
        r"its C:\ProgramData\ssh\sshd_config needs the line `Subsystem sftp sftp-server.exe`; then: Restart-Service sshd",
    )
}
