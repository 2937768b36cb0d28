//! What the machine routes, and who listens.

use std::{io, net::Ipv4Addr, ptr::null_mut};

use windows_sys::Win32::{
    Foundation::{ERROR_INSUFFICIENT_BUFFER, ERROR_SUCCESS},
    NetworkManagement::IpHelper::{
        FreeMibTable, GetExtendedTcpTable, GetIpForwardTable2, MIB_IPFORWARD_ROW2, MIB_TCP6ROW_OWNER_PID,
        MIB_TCP6TABLE_OWNER_PID, MIB_TCPROW_OWNER_PID, MIB_TCPTABLE_OWNER_PID, TCP_TABLE_OWNER_PID_LISTENER,
    },
    Networking::WinSock::{AF_INET, AF_INET6},
};

/// A network that is routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Its address.
    pub to: Ipv4Addr,
    /// The length of its prefix; 0 for the default route.
    pub prefix: u8,
    /// Index of the adapter.
    pub adapter: u32,
}

/// All routes of IPv4.
pub fn routes() -> io::Result<Vec<Route>> {
    let mut table = null_mut();
    // SAFETY: a pointer is written to.
    let code = unsafe { GetIpForwardTable2(AF_INET, &raw mut table) };
    if code != ERROR_SUCCESS {
        return Err(io::Error::from_raw_os_error(code.cast_signed()));
    }
    // SAFETY: Windows made the table, and says how many rows follow its head.
    let rows = unsafe {
        let first: *const MIB_IPFORWARD_ROW2 = (&raw const (*table).Table).cast();
        std::slice::from_raw_parts(first, (*table).NumEntries as usize)
    };
    let routes = rows
        .iter()
        .map(|row| Route {
            // SAFETY: the table was asked for IPv4; all views of the union are the same four bytes.
            to: Ipv4Addr::from(
                unsafe { row.DestinationPrefix.Prefix.Ipv4.sin_addr.S_un.S_addr }.to_ne_bytes(),
            ),
            prefix: row.DestinationPrefix.PrefixLength,
            adapter: row.InterfaceIndex,
        })
        .collect();
    // SAFETY: the table is Windows' own and is not used any more.
    unsafe { FreeMibTable(table.cast()) };
    Ok(routes)
}

/// TCP ports at which somebody listens, with the id of the process.
pub fn listeners() -> io::Result<Vec<(u16, u32)>> {
    let four = tcp_table(AF_INET)?;
    // SAFETY: the table begins with the number of its rows.
    let mut all = unsafe {
        let table = four.as_ptr().cast::<MIB_TCPTABLE_OWNER_PID>();
        let first: *const MIB_TCPROW_OWNER_PID = (&raw const (*table).table).cast();
        let rows = std::slice::from_raw_parts(first, (*table).dwNumEntries as usize);
        rows.iter().map(|row| (port(row.dwLocalPort), row.dwOwningPid)).collect::<Vec<_>>()
    };
    let six = tcp_table(AF_INET6)?;
    // SAFETY: as above.
    all.extend(unsafe {
        let table = six.as_ptr().cast::<MIB_TCP6TABLE_OWNER_PID>();
        let first: *const MIB_TCP6ROW_OWNER_PID = (&raw const (*table).table).cast();
        let rows = std::slice::from_raw_parts(first, (*table).dwNumEntries as usize);
        rows.iter().map(|row| (port(row.dwLocalPort), row.dwOwningPid)).collect::<Vec<_>>()
    });
    Ok(all)
}

/// The first two bytes, in the order of the network.
fn port(number: u32) -> u16 {
    let [high, low, ..] = number.to_ne_bytes();
    u16::from_be_bytes([high, low])
}

/// The table of those who listen, in a buffer that is aligned for it.
fn tcp_table(family: u16) -> io::Result<Vec<u64>> {
    let mut size = 16 << 10;
    // What is asked for may grow between two calls.
    for _ in 0..5 {
        let mut buffer = vec![0_u64; (size as usize).div_ceil(8)];
        // SAFETY: the buffer is at least as long as said.
        let code = unsafe {
            GetExtendedTcpTable(
                buffer.as_mut_ptr().cast(),
                &raw mut size,
                0,
                u32::from(family),
                TCP_TABLE_OWNER_PID_LISTENER,
                0,
            )
        };
        match code {
            ERROR_SUCCESS => return Ok(buffer),
            ERROR_INSUFFICIENT_BUFFER => {}
            code => return Err(io::Error::from_raw_os_error(code.cast_signed())),
        }
    }
    Err(io::Error::other("the list of ports keeps growing"))
}
