/* Stands for a disc that installs Windows, and for what it installs: programs for UEFI, built by tests.
 *
 * On the disc it asks for a key for five seconds, as Microsoft's disc does. Without one it goes back to the firmware. With
 * one it writes `disk.img` from its own disc to the machine's disk, sector by sector, and starts the machine anew. A key
 * that comes while it "copies files" is told: such a key would stop Setup.
 *
 * Built with -DINSTALLED it is what was installed: it says at the serial port what our node program would say. With
 * -DSEALED it seals itself at its first start, and switches the machine off; with -DINTERRUPTED it goes off while it is
 * about to. */

#include <stddef.h>
#include <stdint.h>

typedef uint64_t efi;
typedef void *handle;
typedef struct { uint32_t a; uint16_t b, c; uint8_t d[8]; } guid;

/* A function of a table of the firmware, by its place in it. */
#define CALL(table, place, ...) \
    ((efi(__attribute__((ms_abi)) *)())(*(void **)((char *)(table) + (place))))(__VA_ARGS__)
#define FIELD(table, place) (*(void **)((char *)(table) + (place)))

static char *system_table;

static void say(const wchar_t *text)
{
    void *out = FIELD(system_table, 64);
    CALL(out, 8, out, text);
    CALL(out, 8, out, L"\r\n");
}

static void wait(efi microseconds)
{
    CALL(FIELD(system_table, 96), 248, microseconds);
}

static __attribute__((unused)) int key(void)
{
    uint16_t stroke[2];
    void *in = FIELD(system_table, 48);
    return CALL(in, 8, in, stroke) == 0;
}

static __attribute__((unused)) void reset(int how)
{
    CALL(FIELD(system_table, 88), 104, (efi)how, (efi)0, (efi)0, (void *)0);
}

static guid file_system = {0x964e5b22, 0x6459, 0x11d2, {0x8e, 0x39, 0, 0xa0, 0xc9, 0x69, 0x72, 0x3b}};
static guid loaded_image = {0x5b1b31a1, 0x9562, 0x11d2, {0x8e, 0x3f, 0, 0xa0, 0xc9, 0x69, 0x72, 0x3b}};
#define READ ((efi)1)
#define CREATE ((efi)0x8000000000000003)

/* A file beside this program. */
static __attribute__((unused)) efi open_beside(handle image, const wchar_t *name, efi mode, void **file)
{
    void *boot = FIELD(system_table, 96), *own, *volume, *root;
    return CALL(boot, 152, image, &loaded_image, &own)
        || CALL(boot, 152, FIELD(own, 24), &file_system, &volume) || CALL(volume, 8, volume, &root)
        || CALL(root, 8, root, file, name, mode, (efi)0);
}

#if defined(INSTALLED)

efi __attribute__((ms_abi)) efi_main(handle image, char *table)
{
    system_table = table;
    say(L"swdt: first-boot started test");
    wait(500000);
    say(L"swdt: first-boot step keys");
    wait(500000);
#if defined(SEALED)
    void *mark;
    if (open_beside(image, L"\\sealed", READ, &mark)) {
        open_beside(image, L"\\sealed", CREATE, &mark);
        CALL(mark, 16, mark);
        say(L"swdt: first-boot sealing");
#if !defined(INTERRUPTED)
        say(L"swdt: first-boot sealed");
#endif
        reset(2);
    }
#else
    (void)image;
#endif
    say(L"swdt: first-boot ready");
    for (;;)
        wait(1000000);
}

#else

static guid block_io = {0x964e5b21, 0x6459, 0x11d2, {0x8e, 0x39, 0, 0xa0, 0xc9, 0x69, 0x72, 0x3b}};

/* Writes to every disk of the machine; says whether there was one. */
static int write_disks(void *bytes, efi size)
{
    void *boot = FIELD(system_table, 96), *disk;
    handle *all;
    efi count, at, done = 0;

    if (CALL(boot, 312, (efi)2, &block_io, (void *)0, &count, &all))
        return 0;
    for (at = 0; at < count; at++) {
        if (CALL(boot, 152, all[at], &block_io, &disk))
            continue;
        uint8_t *medium = FIELD(disk, 8);
        int removable = medium[4], part = medium[6], locked = medium[7];
        if (!removable && !part && !locked
            && !CALL(disk, 32, disk, (efi)*(uint32_t *)medium, (efi)0, size, bytes) && !CALL(disk, 40, disk))
            done = 1;
    }
    return done;
}

efi __attribute__((ms_abi)) efi_main(handle image, char *table)
{
    void *boot = FIELD(table, 96), *file, *bytes;
    efi size = 4 << 20, at, pressed = 0;

    system_table = table;
    say(L"Press any key to boot from CD or DVD......");
    for (at = 0; at < 50 && !pressed; at++) {
        wait(100000);
        pressed = key();
    }
    if (!pressed)
        return 0x8000000000000012; /* time out */
    say(L"test: a key was pressed");
    /* Keys may come for as long as the question could have been asked; after that none may. */
    for (at = 0; at < 130; at++) {
        wait(100000);
        key();
    }
    for (at = 0; at < 30; at++) {
        wait(100000);
        if (key())
            say(L"test: a late key");
    }
    if (CALL(boot, 64, (efi)2, size, &bytes) || open_beside(image, L"\\disk.img", READ, &file)
        || CALL(file, 32, file, &size, bytes)) {
        say(L"test: the disc cannot be read");
        return 1;
    }
    say(write_disks(bytes, size) ? L"test: installed" : L"test: no disk to install to");
    wait(500000);
    reset(1);
    return 0;
}

#endif
