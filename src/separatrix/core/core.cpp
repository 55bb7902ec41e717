// The library's face: which instruction set serves, and the C entries that Python calls.
#include "table.hpp"

#include <cstring>

#ifdef SX_HAVE_AVX2
#include <cpuid.h>

// What the processor has (cpuid leaf 7) counts only if the system saves its registers (XCR0). The compiler's own question
// needs a table that not every run-time library has.
static bool has(unsigned instructions, unsigned registers) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    if ((a & registers) != registers || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return (b & instructions) == instructions;
}
#endif

namespace baseline { extern const Table table; }
#ifdef SX_HAVE_AVX2
namespace avx2 { extern const Table table; }
#endif
#ifdef SX_HAVE_AVX512
namespace avx512 { extern const Table table; }
#endif

namespace {

const Table *serving = &baseline::table;
const char *serving_name = "baseline";

bool serve(const char *name) {
    const Table *found = nullptr;
    if (!std::strcmp(name, "baseline")) found = &baseline::table;
#ifdef SX_HAVE_AVX2
    if (!std::strcmp(name, "avx2") && has(bit_AVX2, 0x6)) found = &avx2::table;
#endif
#ifdef SX_HAVE_AVX512
    if (!std::strcmp(name, "avx512") && has(bit_AVX512F | bit_AVX512DQ | bit_AVX512VL, 0xe6))
        found = &avx512::table;
#endif
    if (found == nullptr) return false;
    serving = found;
    serving_name = name[0] == 'b' ? "baseline" : name[3] == '2' ? "avx2" : "avx512";
    return true;
}

// Another library may have set the processor to flush small numbers to zero, or to round another way: inside the core
// it rounds to nearest and keeps them, and afterwards it is as it was.
struct Rounding {
#if defined(__x86_64__)
    unsigned before;
    Rounding() {
        before = __builtin_ia32_stmxcsr();
        if (before & 0xe040) __builtin_ia32_ldmxcsr(before & ~0xe040u);
    }
    ~Rounding() {
        if (before & 0xe040) __builtin_ia32_ldmxcsr(before);
    }
#elif defined(__aarch64__)
    uint64_t before;
    Rounding() {
        __asm__ volatile("mrs %0, fpcr" : "=r"(before));
        if (before & 0x1c00000) __asm__ volatile("msr fpcr, %0" : : "r"(before & ~uint64_t(0x1c00000)));
    }
    ~Rounding() {
        if (before & 0x1c00000) __asm__ volatile("msr fpcr, %0" : : "r"(before));
    }
#endif
};

}  // namespace

#ifdef _WIN32
#define SX_EXPORT extern "C" __declspec(dllexport)
#else
#define SX_EXPORT extern "C" __attribute__((visibility("default")))
#endif

#define X(result, name, parameters, arguments)  \
    SX_EXPORT result sx_##name parameters {     \
        Rounding nearest;                       \
        return serving->name arguments;         \
    }
SX_ENTRIES(X)
#undef X

SX_EXPORT i64 sx_face() { return FACE; }
SX_EXPORT i64 sx_serve(const char *name) { return serve(name); }
SX_EXPORT const char *sx_serving() { return serving_name; }
SX_EXPORT i64 sx_size(i64 record) {
    const i64 sizes[] = {sizeof(Rows), sizeof(Bounds), sizeof(Watch), sizeof(Stepper), sizeof(Local), sizeof(Gram),
                         sizeof(Place), sizeof(Sweep), sizeof(Perceptron), sizeof(Facts), sizeof(Ask)};
    return record < i64(sizeof(sizes) / sizeof(sizes[0])) ? sizes[record] : -1;
}
