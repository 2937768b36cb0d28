//! The functions of C that programs call. A handle is a box with the id of its object.
#![allow(non_snake_case, reason = "the names are those of Windows")]

use std::ptr::null_mut;

use serde_json::Value;
use windows_sys::{Win32::System::Com::CoTaskMemAlloc, core::GUID};

use crate::{
    Result,
    machine::{This, text_of, with_state},
    state::{Kind, parse},
    v1,
};

type Text = *const u16;
type Answer = *mut *mut u16;
type Handle = *mut String;

/// # Safety
/// Null, or a text that ends with a zero.
unsafe fn read(start: Text) -> String {
    if start.is_null() {
        return String::new();
    }
    let mut length = 0;
    // SAFETY: the text ends with a zero, and no later character is looked at.
    while unsafe { *start.add(length) } != 0 {
        length += 1;
    }
    // SAFETY: so many characters were seen.
    String::from_utf16_lossy(unsafe { std::slice::from_raw_parts(start, length) })
}

/// Gives a text that the caller frees by `CoTaskMemFree`.
///
/// # Safety
/// Null, or a place for a pointer.
unsafe fn give(to: Answer, text: &str) {
    if to.is_null() {
        return;
    }
    let wide: Vec<u16> = text.encode_utf16().chain([0]).collect();
    // SAFETY: as many bytes as are copied, if there are any.
    unsafe {
        let copy = CoTaskMemAlloc(wide.len() * 2).cast::<u16>();
        if !copy.is_null() {
            copy.copy_from_nonoverlapping(wide.as_ptr(), wide.len());
        }
        *to = copy;
    }
}

/// The code of an outcome; what went wrong is also told in words.
///
/// # Safety
/// `words` is null, or a place for a pointer.
unsafe fn finish(outcome: Result<()>, words: Answer) -> i32 {
    if !words.is_null() {
        // SAFETY: a place for a pointer.
        unsafe { *words = null_mut() };
    }
    match outcome {
        Ok(()) => 0,
        Err(refusal) => {
            // SAFETY: as above.
            unsafe { give(words, &refusal.document().to_string()) };
            refusal.0.cast_signed()
        }
    }
}

/// # Safety
/// `id` is a GUID, `handle` a place for a handle, `words` null or a place for a pointer.
unsafe fn open(call: &str, kind: Kind, id: *const GUID, handle: *mut Handle, words: Answer) -> i32 {
    // SAFETY: by the contract of this function.
    let id = text_of(unsafe { &*id });
    let outcome = with_state(call, |state| state.get(kind, &id).map(drop)).map(|()| {
        // SAFETY: a place for a handle.
        unsafe { *handle = Box::into_raw(Box::new(id)) };
    });
    // SAFETY: by the contract of this function.
    unsafe { finish(outcome, words) }
}

/// # Safety
/// `id` is null or a GUID, `settings` a text, `handle` a place for a handle, `words` null or a place for a pointer.
unsafe fn create(
    call: &str,
    kind: Kind,
    (network, id): (Option<&str>, *const GUID),
    settings: Text,
    handle: *mut Handle,
    words: Answer,
) -> i32 {
    // SAFETY: by the contract of this function.
    let (settings, id) = unsafe { (read(settings), id.as_ref()) };
    let outcome = with_state(call, |state| {
        let mut settings = parse(&settings)?;
        if let Some(id) = id.filter(|id| id.data1 != 0) {
            settings["ID"] = text_of(id).into();
        }
        if let Some(network) = network {
            settings["HostComputeNetwork"] = network.into();
        }
        state.create(kind, &settings.to_string(), &This)
    });
    let outcome = outcome.map(|id| {
        // SAFETY: a place for a handle.
        unsafe { *handle = Box::into_raw(Box::new(id)) };
    });
    // SAFETY: by the contract of this function.
    unsafe { finish(outcome, words) }
}

/// The seven functions of a kind of objects; making one differs for endpoints.
macro_rules! functions {
    ($kind:expr, $enumerate:ident, $open:ident, $modify:ident, $query:ident, $delete:ident, $close:ident) => {
        /// # Safety
        /// As the function of Windows of this name.
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $enumerate(query: Text, found: Answer, words: Answer) -> i32 {
            // SAFETY: by the contract of this function.
            let query = unsafe { read(query) };
            let outcome = with_state(stringify!($enumerate), |state| {
                let ids: Value = state.enumerate($kind, &query)?.into();
                // SAFETY: by the contract of this function.
                unsafe { give(found, &ids.to_string()) };
                Ok(())
            });
            // SAFETY: by the contract of this function.
            unsafe { finish(outcome, words) }
        }

        /// # Safety
        /// As the function of Windows of this name.
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $open(id: *const GUID, handle: *mut Handle, words: Answer) -> i32 {
            // SAFETY: by the contract of this function.
            unsafe { open(stringify!($open), $kind, id, handle, words) }
        }

        /// # Safety
        /// As the function of Windows of this name.
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $modify(handle: Handle, settings: Text, words: Answer) -> i32 {
            // SAFETY: by the contract of this function.
            let (id, settings) = unsafe { (&*handle, read(settings)) };
            let outcome = with_state(stringify!($modify), |state| state.modify($kind, id, &settings));
            // SAFETY: by the contract of this function.
            unsafe { finish(outcome, words) }
        }

        /// # Safety
        /// As the function of Windows of this name.
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $query(
            handle: Handle,
            _query: Text,
            properties: Answer,
            words: Answer,
        ) -> i32 {
            // SAFETY: by the contract of this function.
            let id = unsafe { &*handle };
            let outcome = with_state(stringify!($query), |state| {
                // SAFETY: by the contract of this function.
                unsafe { give(properties, &state.get($kind, id)?.to_string()) };
                Ok(())
            });
            // SAFETY: by the contract of this function.
            unsafe { finish(outcome, words) }
        }

        /// # Safety
        /// As the function of Windows of this name.
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $delete(id: *const GUID, words: Answer) -> i32 {
            // SAFETY: by the contract of this function.
            let id = text_of(unsafe { &*id });
            let outcome = with_state(stringify!($delete), |state| state.delete($kind, &id));
            // SAFETY: by the contract of this function.
            unsafe { finish(outcome, words) }
        }

        /// # Safety
        /// As the function of Windows of this name.
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $close(handle: Handle) -> i32 {
            // SAFETY: made by us, and closed once.
            drop(unsafe { Box::from_raw(handle) });
            0
        }
    };
}

macro_rules! creates {
    ($kind:expr, $create:ident) => {
        /// # Safety
        /// As the function of Windows of this name.
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $create(
            id: *const GUID,
            settings: Text,
            handle: *mut Handle,
            words: Answer,
        ) -> i32 {
            // SAFETY: by the contract of this function.
            unsafe { create(stringify!($create), $kind, (None, id), settings, handle, words) }
        }
    };
}

functions!(
    Kind::Network,
    HcnEnumerateNetworks,
    HcnOpenNetwork,
    HcnModifyNetwork,
    HcnQueryNetworkProperties,
    HcnDeleteNetwork,
    HcnCloseNetwork
);
functions!(
    Kind::Endpoint,
    HcnEnumerateEndpoints,
    HcnOpenEndpoint,
    HcnModifyEndpoint,
    HcnQueryEndpointProperties,
    HcnDeleteEndpoint,
    HcnCloseEndpoint
);
functions!(
    Kind::LoadBalancer,
    HcnEnumerateLoadBalancers,
    HcnOpenLoadBalancer,
    HcnModifyLoadBalancer,
    HcnQueryLoadBalancerProperties,
    HcnDeleteLoadBalancer,
    HcnCloseLoadBalancer
);
functions!(
    Kind::Namespace,
    HcnEnumerateNamespaces,
    HcnOpenNamespace,
    HcnModifyNamespace,
    HcnQueryNamespaceProperties,
    HcnDeleteNamespace,
    HcnCloseNamespace
);
functions!(
    Kind::Route,
    HcnEnumerateSdnRoutes,
    HcnOpenSdnRoute,
    HcnModifySdnRoute,
    HcnQuerySdnRouteProperties,
    HcnDeleteSdnRoute,
    HcnCloseSdnRoute
);
creates!(Kind::Network, HcnCreateNetwork);
creates!(Kind::LoadBalancer, HcnCreateLoadBalancer);
creates!(Kind::Namespace, HcnCreateNamespace);
creates!(Kind::Route, HcnCreateSdnRoute);

/// # Safety
/// As the function of Windows of this name.
#[unsafe(no_mangle)]
unsafe extern "system" fn HcnCreateEndpoint(
    network: Handle,
    id: *const GUID,
    settings: Text,
    handle: *mut Handle,
    words: Answer,
) -> i32 {
    // SAFETY: by the contract of this function.
    unsafe {
        let whose = (Some((*network).as_str()), id);
        create("HcnCreateEndpoint", Kind::Endpoint, whose, settings, handle, words)
    }
}

/// # Safety
/// As the function of Windows of this name.
#[unsafe(no_mangle)]
unsafe extern "system" fn HNSCall(method: Text, path: Text, document: Text, answer: Answer) -> i32 {
    // SAFETY: by the contract of this function.
    let (method, path, document) = unsafe { (read(method), read(path), read(document)) };
    match with_state("HNSCall", |state| Ok(v1::call(state, (&method, &path, &document), &This))) {
        Ok(said) => {
            // SAFETY: by the contract of this function.
            unsafe { give(answer, &said.to_string()) };
            0
        }
        Err(refusal) => refusal.0.cast_signed(),
    }
}
