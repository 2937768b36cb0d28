/* Accounts of Windows: Wine 10 has no NetUserSetInfo. This one remembers that a password was set, and how long it
 * was, never what it was; and what an account is called now. For swdt-node.exe alone: tests say so in the registry. */

#include <windows.h>

static int write_value(const wchar_t *user, const wchar_t *name, DWORD kind, const void *data, DWORD size)
{
    HKEY key;
    wchar_t path[256] = L"SOFTWARE\\swdt-rehearsal\\accounts\\";
    int failed;

    if (lstrlenW(user) > 64)
        return ERROR_INVALID_PARAMETER;
    lstrcatW(path, user);
    if (RegCreateKeyExW(HKEY_LOCAL_MACHINE, path, 0, NULL, 0, KEY_ALL_ACCESS, NULL, &key, NULL))
        return ERROR_ACCESS_DENIED;
    failed = RegSetValueExW(key, name, 0, kind, data, size);
    RegCloseKey(key);
    return failed;
}

/* Levels: 0 is a new name, 1003 a new password. Both structures are one pointer to a text. */
__declspec(dllexport) DWORD WINAPI NetUserSetInfo(const wchar_t *server, const wchar_t *user, DWORD level,
                                                  const wchar_t *const *info, DWORD *error)
{
    DWORD length = lstrlenW(*info);

    (void)server;
    (void)error;
    switch (level) {
    case 0:
        return write_value(user, L"Name", REG_SZ, *info, (length + 1) * sizeof(wchar_t));
    case 1003:
        return write_value(user, L"PasswordLength", REG_DWORD, &length, sizeof(length));
    default:
        return ERROR_INVALID_LEVEL;
    }
}
