/* Loaded into Wine: two lines of /proc/net/ipv6_route, which every network namespace has, make Wine 10 answer
 * ERROR_INVALID_DATA when it is asked for adapters with their prefixes. So that file is empty. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static FILE *open_by(const char *function, const char *path, const char *mode)
{
    FILE *(*next)(const char *, const char *) = (FILE *(*)(const char *, const char *))dlsym(RTLD_NEXT, function);
    return next(path && !strcmp(path, "/proc/net/ipv6_route") ? "/dev/null" : path, mode);
}

FILE *fopen(const char *path, const char *mode) { return open_by("fopen", path, mode); }
FILE *fopen64(const char *path, const char *mode) { return open_by("fopen64", path, mode); }
