/* pdh.dll: performance counters, of which Wine has none. Every counter is there and is always 1. */
#include <windows.h>

#define MORE_DATA 0x800007D2UL
#define EXPORT __declspec(dllexport) LONG WINAPI

typedef struct { DWORD status; double value; } counter_value;
typedef struct { LPWSTR name; counter_value value; } counter_item;

EXPORT PdhOpenQueryW(LPCWSTR source, DWORD_PTR data, HANDLE *query) { *query = (HANDLE)1; return 0; }
EXPORT PdhOpenQuery(LPCWSTR source, DWORD_PTR data, HANDLE *query) { *query = (HANDLE)1; return 0; }
EXPORT PdhAddCounterW(HANDLE query, LPCWSTR path, DWORD_PTR data, HANDLE *counter) { *counter = (HANDLE)1; return 0; }
EXPORT PdhAddEnglishCounterW(HANDLE query, LPCWSTR path, DWORD_PTR data, HANDLE *counter) { *counter = (HANDLE)1; return 0; }
EXPORT PdhCollectQueryData(HANDLE query) { return 0; }
EXPORT PdhCloseQuery(HANDLE query) { return 0; }
EXPORT PdhValidatePathW(LPCWSTR path) { return 0; }

EXPORT PdhGetFormattedCounterValue(HANDLE counter, DWORD format, DWORD *type, counter_value *value)
{
    value->status = 0;
    value->value = 1;
    return 0;
}

EXPORT PdhGetFormattedCounterArrayW(HANDLE counter, DWORD format, DWORD *size, DWORD *count, counter_item *items)
{
    static WCHAR total[] = L"_Total";
    DWORD needed = sizeof(*items);
    if (!items || *size < needed) {
        *size = needed;
        *count = 1;
        return (LONG)MORE_DATA;
    }
    items->name = total;
    items->value.status = 0;
    items->value.value = 1;
    *count = 1;
    return 0;
}
