/* How many CPUs the control groups of this process let it use, as optgen/threads/cpus.py finds it. A container's quota
   is time, and not cores: threads beyond it spin until the system stops all of them for the rest of a period. */

#if defined(__linux__)
enum { MOST_PATH = 4096 };

/* A file of a folder that begins with /, below another root; NULL if there is none. */
static inline FILE *system_file(const char *root, const char *folder, const char *name)
{
    char path[3 * MOST_PATH];
    const int length = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    return length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
}

/* The whole numbers that a file begins with, at most two; 0 for those that are not there. */
static inline int has_numbers(FILE *file, long long numbers[2])
{
    numbers[0] = numbers[1] = 0;
    if (!file)
        return 0;
    (void)!fscanf(file, "%lld %lld", &numbers[0], &numbers[1]);
    fclose(file);
    return 1;
}

/* The quota of one group in CPUs; infinite if it has none. */
static inline double quota_of_group(const char *root, const char *folder)
{
    long long both[2], period[2];
    if (!has_numbers(system_file(root, folder, "cpu.max"), both)) { /* version 1 */
        has_numbers(system_file(root, folder, "cpu.cfs_quota_us"), both);
        has_numbers(system_file(root, folder, "cpu.cfs_period_us"), period);
        both[1] = period[0];
    }
    return both[0] > 0 && both[1] > 0 ? (double)both[0] / (double)both[1] : (double)INFINITY;
}

/* Whether a word is in a list with commas. */
static inline int is_listed(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (;; list++) {
        const size_t own = strcspn(list, ",");
        if (own == length && memcmp(list, word, own) == 0)
            return 1;
        list += own;
        if (!*list)
            return 0;
    }
}

/* The path of this process's group for a controller, which is "" in version 2; empty if it has none. */
static inline void find_group(const char *root, const char *controller, char path[MOST_PATH])
{
    char *line = NULL;
    size_t room = 0;
    FILE *const file = system_file(root, "/proc/self", "cgroup");
    *path = 0;
    while (file && getline(&line, &room, file) > 0) {
        char *const names = strchr(line, ':'), *const end = names ? strchr(names + 1, ':') : NULL;
        if (!end)
            continue;
        *end = 0;
        if (is_listed(names + 1, controller))
            snprintf(path, MOST_PATH, "%.*s", (int)strcspn(end + 1, "\n"), end + 1);
    }
    free(line);
    if (file)
        fclose(file);
}

/* A path of mountinfo without octal numbers, as \040 for a space, and without a slash at its end. */
static inline void clean(char *path)
{
    char *to = path;
    for (const char *from = path; *from; to++) {
        if (from[0] == '\\' && from[1] && from[2] && from[3]) {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    while (to > path && to[-1] == '/')
        to--;
    *to = 0;
}

/* The smallest quota of a group and of those above it, as far as they are mounted: at `mount`, from the group `top` of
   the hierarchy on. What is above that the process does not see. */
static inline double quota_of_mount(const char *root, const char *mount, const char *top, const char *group)
{
    char folder[2 * MOST_PATH], whole[MOST_PATH + 1];
    const size_t skipped = strlen(top);
    size_t used = (size_t)snprintf(folder, sizeof folder, "%s", mount), length = 0;
    double least = quota_of_group(root, folder);
    snprintf(whole, sizeof whole, "%s/", group);
    if (strstr(whole, "/../") || strncmp(whole, top, skipped) != 0 || whole[skipped] != '/')
        return least;
    for (const char *rest = whole + skipped; *(rest += strspn(rest, "/")); rest += length) {
        length = strcspn(rest, "/");
        used += (size_t)snprintf(folder + used, sizeof folder - used, "/%.*s", (int)length, rest);
        least = fmin(least, quota_of_group(root, folder));
    }
    return least;
}

/* The CPUs that quotas leave; infinite if there are none. `root` is "" but for tests. */
static inline double quota(const char *root)
{
    char *line = NULL, group[MOST_PATH], top[MOST_PATH], mount[MOST_PATH], kind[32], options[MOST_PATH];
    size_t room = 0;
    double least = (double)INFINITY;
    FILE *const file = system_file(root, "/proc/self", "mountinfo");
    while (file && getline(&line, &room, file) > 0) {
        const char *const second = strstr(line, " - ");
        if (!second || sscanf(line, "%*s %*s %*s %4095s %4095s", top, mount) != 2 ||
            sscanf(second + 3, "%31s %*s %4095s", kind, options) != 2)
            continue;
        const int is_new = strcmp(kind, "cgroup2") == 0;
        if (!is_new && (strcmp(kind, "cgroup") != 0 || !is_listed(options, "cpu")))
            continue;
        find_group(root, is_new ? "" : "cpu", group);
        clean(top);
        clean(mount);
        least = fmin(least, quota_of_mount(root, mount, top, group));
    }
    free(line);
    if (file)
        fclose(file);
    return least;
}
#else
static inline double quota(const char *root)
{
    (void)root;
    return (double)INFINITY;
}
#endif
