//! Network adapters.

use std::{io, net::IpAddr, ptr::null};

use windows_sys::Win32::{
    Foundation::{ERROR_BUFFER_OVERFLOW, ERROR_NO_DATA, ERROR_SUCCESS},
    NetworkManagement::{
        IpHelper::{
            GAA_FLAG_SKIP_ANYCAST, GAA_FLAG_SKIP_DNS_SERVER, GAA_FLAG_SKIP_MULTICAST, GetAdaptersAddresses,
            IP_ADAPTER_ADDRESSES_LH, IP_ADAPTER_UNICAST_ADDRESS_LH,
        },
        Ndis::IfOperStatusUp,
    },
    Networking::WinSock::{AF_INET, AF_INET6, AF_UNSPEC, SOCKADDR_IN, SOCKADDR_IN6},
};

use crate::text;

/// An adapter that is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// Windows' number of it.
    pub index: u32,
    /// As people know it: `Ethernet`.
    pub name: String,
    /// What it is: `Microsoft Hyper-V Network Adapter`.
    pub description: String,
    /// `00:15:5d:…`; empty where there is none.
    pub mac: String,
    /// Addresses with the length of their prefix.
    pub addresses: Vec<(IpAddr, u8)>,
}

/// All adapters that are up.
pub fn all() -> io::Result<Vec<Adapter>> {
    let flags = GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST | GAA_FLAG_SKIP_DNS_SERVER;
    let mut size = 32 << 10;
    // What is asked for may grow between two calls.
    for _ in 0..5 {
        // Eight bytes each, so that the structures in it are aligned.
        let mut buffer = vec![0_u64; (size as usize).div_ceil(8)];
        let first = buffer.as_mut_ptr().cast::<IP_ADAPTER_ADDRESSES_LH>();
        // SAFETY: the buffer is at least as long as said.
        match unsafe { GetAdaptersAddresses(u32::from(AF_UNSPEC), flags, null(), first, &raw mut size) } {
            // SAFETY: Windows filled the buffer with a list that ends with a null.
            ERROR_SUCCESS => return Ok(unsafe { collect(first) }),
            ERROR_NO_DATA => return Ok(Vec::new()),
            ERROR_BUFFER_OVERFLOW => {}
            code => return Err(io::Error::from_raw_os_error(code.cast_signed())),
        }
    }
    Err(io::Error::other("the list of adapters keeps growing"))
}

/// # Safety
/// `next` is null, or a list as `GetAdaptersAddresses` makes it.
unsafe fn collect(mut next: *const IP_ADAPTER_ADDRESSES_LH) -> Vec<Adapter> {
    let mut adapters = Vec::new();
    // SAFETY: by the contract of this function.
    while let Some(adapter) = unsafe { next.as_ref() } {
        next = adapter.Next;
        if adapter.OperStatus != IfOperStatusUp {
            continue;
        }
        let bytes = adapter.PhysicalAddress.iter().take(adapter.PhysicalAddressLength as usize);
        adapters.push(Adapter {
            // SAFETY: both views of the union hold the number in the same place.
            index: unsafe { adapter.Anonymous1.Anonymous.IfIndex },
            // SAFETY: both are texts that end with a zero.
            name: unsafe { text(adapter.FriendlyName) },
            // SAFETY: as above.
            description: unsafe { text(adapter.Description) },
            mac: bytes.map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"),
            // SAFETY: the list of this adapter.
            addresses: unsafe { addresses(adapter.FirstUnicastAddress) },
        });
    }
    adapters
}

/// # Safety
/// `next` is null, or a list of unicast addresses.
unsafe fn addresses(mut next: *const IP_ADAPTER_UNICAST_ADDRESS_LH) -> Vec<(IpAddr, u8)> {
    let mut all = Vec::new();
    // SAFETY: by the contract of this function.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.Next;
        let socket = entry.Address.lpSockaddr;
        // SAFETY: every address begins with its family.
        let Some(family) = (unsafe { socket.as_ref() }).map(|socket| socket.sa_family) else { continue };
        let ip = match family {
            AF_INET => {
                // SAFETY: the family says which structure it is.
                let four = unsafe { socket.cast::<SOCKADDR_IN>().read_unaligned() };
                // SAFETY: all views of the union are the same four bytes.
                IpAddr::from(unsafe { four.sin_addr.S_un.S_addr }.to_ne_bytes())
            }
            AF_INET6 => {
                // SAFETY: the family says which structure it is.
                let six = unsafe { socket.cast::<SOCKADDR_IN6>().read_unaligned() };
                // SAFETY: all views of the union are the same sixteen bytes.
                IpAddr::from(unsafe { six.sin6_addr.u.Byte })
            }
            _ => continue,
        };
        all.push((ip, entry.OnLinkPrefixLength));
    }
    all
}
