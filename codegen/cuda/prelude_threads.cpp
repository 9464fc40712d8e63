// What threads wait for: one another, and vectors on their way to shared memory.
#include "codegen/cuda/prelude_text.h"

namespace smelt {
namespace {

constexpr std::string_view kBarrier = R"(
// A barrier for the threads of one team.
SM void sm_barrier(int team, int threads) {
#ifdef __CUDA_ARCH__
  asm volatile("bar.sync %0, %1;" : : "r"(team), "r"(threads) : "memory");
#else
  host_barrier(team, threads);
#endif
}
)";
constexpr std::string_view kFetch = R"(
// A vector sets out for shared memory; what sets out up to sm_end_fetch arrives together.
template <int bytes>
SM void sm_fetch(unsigned char* to, const void* from) {
  constexpr int P = bytes < 16 ? bytes : 16;
#pragma unroll
  for (int i = 0; i < bytes; i += P) {
#ifdef __CUDA_ARCH__
    const unsigned place = (unsigned)__cvta_generic_to_shared(to + i);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(place), "l"((const char*)from + i), "n"(P) : "memory");
#else
    memcpy(to + i, (const char*)from + i, P);
#endif
  }
}
)";
constexpr std::string_view kEndFetch = R"(SM void sm_end_fetch() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
)";
constexpr std::string_view kAwaitFetched = R"(
// All has arrived but the `later` last.
template <int later>
SM void sm_await_fetched() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" : : "n"(later) : "memory");
#endif
}
)";

constexpr PreludePiece kThreadPieces[] = {
    {"sm_barrier", kBarrier},
    {"sm_fetch", kFetch},
    {"sm_end_fetch", kEndFetch},
    {"sm_await_fetched", kAwaitFetched},
};

}  // namespace

std::span<const PreludePiece> thread_pieces() { return kThreadPieces; }

}  // namespace smelt
