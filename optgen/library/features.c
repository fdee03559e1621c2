/* Which instructions this CPU has. */

#if defined(__x86_64__)
/* Where CPUID says that there is a feature: the bits of a mask, in the order of `X86.features` of cpus.py */
static const struct {
    uint32_t leaf;
    int32_t word, bit; /* of EAX, EBX, ECX, EDX */
} feature_places[] = {
    {1, 2, 0}, {1, 2, 9}, {1, 2, 13}, {1, 2, 19}, {1, 2, 20}, {1, 2, 23}, {0x80000001, 2, 0},          /* level 2 */
    {1, 2, 28}, {7, 1, 5}, {7, 1, 3}, {7, 1, 8}, {1, 2, 29}, {1, 2, 12}, {0x80000001, 2, 5}, {1, 2, 22}, /* level 3 */
    {7, 1, 16}, {7, 1, 30}, {7, 1, 28}, {7, 1, 17}, {7, 1, 31}, {7, 2, 1}, /* level 4, VBMI */
};
enum { FIRST_OF_AVX = 7, FIRST_OF_AVX512 = 15 };

static uint32_t cpu_features(void)
{
    uint32_t found = 0, state = 0, words[4];
    if (__get_cpuid(1, &words[0], &words[1], &words[2], &words[3]) && words[2] >> 27 & 1) {
        uint32_t high;
        __asm__ volatile("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
    }
    for (uint32_t k = 0; k < sizeof feature_places / sizeof *feature_places; k++) {
        /* The system must keep the registers, too. */
        const uint32_t kept = k < FIRST_OF_AVX ? 0 : k < FIRST_OF_AVX512 ? 0x6 : 0xE6;
        if ((state & kept) == kept &&
            __get_cpuid_count(feature_places[k].leaf, 0, &words[0], &words[1], &words[2], &words[3]))
            found |= (words[feature_places[k].word] >> feature_places[k].bit & 1) << k;
    }
    return found;
}
#elif defined(__aarch64__) && defined(__linux__)
/* The bits of AT_HWCAP by which Linux says that there is a feature, in the order of `ARM.features`. */
static const unsigned long feature_bits[] = {
    1ul << 9 | 1ul << 10, /* fullfp16: of numbers, and of vectors */
    1ul << 17,            /* sha3 */
};

static uint32_t cpu_features(void)
{
    const unsigned long there = getauxval(AT_HWCAP);
    uint32_t found = 0;
    for (uint32_t k = 0; k < sizeof feature_bits / sizeof *feature_bits; k++)
        if ((there & feature_bits[k]) == feature_bits[k])
            found |= 1u << k;
    return found;
}
#elif defined(__aarch64__) && defined(__APPLE__)
/* What macOS calls the features, in the order of `ARM.features`. */
static const char *const feature_names[] = {"hw.optional.arm.FEAT_FP16", "hw.optional.arm.FEAT_SHA3"};

static uint32_t cpu_features(void)
{
    uint32_t found = 0;
    for (uint32_t k = 0; k < sizeof feature_names / sizeof *feature_names; k++) {
        int32_t is_there = 0;
        size_t bytes = sizeof is_there;
        if (sysctlbyname(feature_names[k], &is_there, &bytes, NULL, 0) == 0 && is_there)
            found |= 1u << k;
    }
    return found;
}
#else
static uint32_t cpu_features(void) { return 0; }
#endif

/* The best level of the kernels that this CPU can run; -1 for none. */
static int level(void)
{
    static atomic_int kept = -2;
    int found = atomic_load(&kept);
    if (found == -2) {
        const uint32_t there = cpu_features();
        for (found = LEVELS - 1; found >= 0 && (there & level_features[found]) != level_features[found]; found--)
            ;
        atomic_store(&kept, found);
    }
    return found;
}
