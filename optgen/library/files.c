/* Files, by the functions of the system. Paths are those that its C functions take; on Windows they are UTF-8. What
   fails says why in errno. */

#if defined(_WIN32)
/* A path as Windows has it, to be freed. */
static wchar_t *wide(const char *path)
{
    const int room = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0);
    wchar_t *const found = room ? malloc(sizeof(wchar_t) * (size_t)room) : NULL;
    if (!found)
        errno = room ? ENOMEM : EILSEQ;
    else
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, found, room);
    return found;
}

/* A file to read, or a new one to write. NULL also if there is one of the new name. */
static FILE *opened(const char *path, int is_new)
{
    wchar_t *const name = wide(path);
    const int flags = is_new ? _O_WRONLY | _O_CREAT | _O_EXCL : _O_RDONLY;
    const int number = name ? _wopen(name, flags | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE) : -1;
    free(name);
    return number < 0 ? NULL : _fdopen(number, is_new ? "wb" : "rb");
}

static int64_t bytes_of_file(FILE *file) { return _filelengthi64(_fileno(file)); }
static int is_on_disk(FILE *file) { return _commit(_fileno(file)) == 0; }
static char *without_links(const char *path) { return _strdup(path); }
static void take_rights(FILE *file, const char *old) { (void)file, (void)old; }

static void remove_file(const char *path)
{
    wchar_t *const name = wide(path);
    if (name)
        DeleteFileW(name);
    free(name);
}

/* Gives a file another name, in place of a file that has it. */
static int move_file(const char *from, const char *to)
{
    wchar_t *const old = wide(from), *const new = wide(to);
    const int is_moved = old && new && MoveFileExW(old, new, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH);
    if (old && new && !is_moved) {
        const DWORD why = GetLastError();
        errno = why == ERROR_ACCESS_DENIED || why == ERROR_SHARING_VIOLATION ? EACCES : EIO;
    }
    free(old);
    free(new);
    return is_moved;
}

/* Whether there is something of this name that is no file: a folder, a device. */
static int is_no_file(const char *path)
{
    wchar_t *const name = wide(path);
    const DWORD found = name ? GetFileAttributesW(name) : INVALID_FILE_ATTRIBUTES;
    free(name);
    return found != INVALID_FILE_ATTRIBUTES && (found & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE));
}
#else
/* e: not a child's */
static FILE *opened(const char *path, int is_new) { return fopen(path, is_new ? "wbxe" : "rbe"); }

static int64_t bytes_of_file(FILE *file)
{
    struct stat found;
    return fstat(fileno(file), &found) == 0 ? (int64_t)found.st_size : -1;
}

static int is_on_disk(FILE *file) { return fsync(fileno(file)) == 0; }

/* The path without links, to be freed: a link goes on to lead to the file. NULL: there is no memory. */
static char *without_links(const char *path)
{
#if defined(IS_POSIX)
    char *const found = realpath(path, NULL);
    if (found)
        return found;
#endif
    return strdup(path);
}

/* Gives a new file the rights of the old one. */
static void take_rights(FILE *file, const char *old)
{
#if defined(IS_POSIX)
    struct stat found;
    if (stat(old, &found) == 0)
        (void)!fchmod(fileno(file), found.st_mode & 07777);
#else
    (void)file, (void)old;
#endif
}
static void remove_file(const char *path) { remove(path); }
static int move_file(const char *from, const char *to) { return rename(from, to) == 0; }

/* Whether there is something of this name that is no file: a folder, a device, a pipe, a link to nothing. */
static int is_no_file(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 ? !S_ISREG(found.st_mode) : lstat(path, &found) == 0;
}
#endif
