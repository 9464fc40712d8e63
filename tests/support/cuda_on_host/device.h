// CUDA C++ functions and variables for a CPU. This file is included before the text of kernels. Each host
// thread runs one thread block at a time. The threads of the block are fibers, which switch when they wait
// for each other. A deadlock of a block ends the program.
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

// Declared here because the headers of the C library take longer to compile than the kernels.
extern "C" {
void* memcpy(void*, const void*, __SIZE_TYPE__) noexcept;
void abort() noexcept;
float expf(float) noexcept, exp2f(float) noexcept, fmaxf(float, float) noexcept, expm1f(float) noexcept,
    logf(float) noexcept, log1pf(float) noexcept;
float sqrtf(float) noexcept, tanhf(float) noexcept, erff(float) noexcept, erfcf(float) noexcept,
    floorf(float) noexcept, rintf(float) noexcept;
float fabsf(float) noexcept, fmaf(float, float, float) noexcept, copysignf(float, float) noexcept;
double fma(double, double, double) noexcept, sqrt(double) noexcept, rint(double) noexcept;
double ceil(double) noexcept, log(double) noexcept;
float fminf(float, float) noexcept;
}

#define __device__
#define __global__
#define __grid_constant__
#define __forceinline__ inline
#define __shared__ static __thread
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

namespace host {

// host_machine is the thread block that the current fiber is a thread of. On x86-64 each fiber has its
// address in r15, which nothing else in this file and in kernels uses: to find a thread-local variable takes
// far longer.
struct Block;
#ifdef __x86_64__
register Block* machine_register asm("r15");
#define host_machine (*host::machine_register)
#else
#define host_machine (host::machine_of_thread)
#endif

constexpr size_t kStackBytes = 1 << 17;
constexpr int kBarriers = 64;

struct Index {
  unsigned x = 0, y = 0;
};

/// Exchange of values between the lanes of a warp that are in one mask.
struct LaneExchange {
  unsigned mask, lanes;   // `lanes` of them
  unsigned arrivals;      // sum of the counts
  unsigned counts[32];    // by lane: number of exchanges that it has begun
  uint64_t slots[32][2];  // by lane: the values of its last two exchanges
};

struct Warp {
  int used = 0;
  LaneExchange exchanges[40];
};

// ---- switches between fibers; on x86-64 without the system calls of swapcontext

#ifdef __x86_64__
using Context = void*;  // a stack pointer; the callee-saved registers are on the stack there
extern "C" void host_switch(Context* from, Context to);
asm(R"(
.text
host_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
inline void switch_to(Context& from, Context& to) { host_switch(&from, to); }
inline void prepare(Context& context, void* stack, void (*function)(), void* machine) {
  void** top = (void**)((char*)stack + kStackBytes) - 2;
  *top = (void*)function;  // return address of the first switch
  context = top - 6;
  top[-6] = machine;  // of r15
}
#else
using Context = ucontext_t;
inline void switch_to(Context& from, Context& to) { swapcontext(&from, &to); }
inline void prepare(Context& context, void* stack, void (*function)(), void*) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, function, 0);
}
#endif

struct Fiber {
  Context context;
  void* stack = nullptr;
  bool done = false;
};

/// A barrier of threads of a block. `arrived` threads wait at it, and it has been passed `generation` times.
struct Barrier {
  int arrived = 0;
  unsigned generation = 0;
};

/// The thread block that a host thread runs. Fibers run in turn: each switches to the next that has not
/// ended. `progress` counts arrivals at barriers and exchanges, and fibers that end; if it stays the same in
/// a round through all fibers, they are in a deadlock.
struct Block {
  Fiber fibers[1024];
  Warp warps[32];
  Barrier barriers[kBarriers];
  int threads = 0, current = 0;
  uint64_t progress = 0, before = 0;  // before: at the last round's end
  int left = 0;                       // fibers that have not ended
  Context caller;
  void (*kernel)(void*) = nullptr;
  void* arguments = nullptr;
  Index thread, block, grid;
};

static thread_local Block machine_of_thread;  // what host_machine is in a fiber of this thread

[[noreturn]] inline void stuck(const char* why) {
  fprintf(stderr, "cuda_on_host: block %u: %s\n", host_machine.block.x, why);
  abort();
}

/// Makes the next fiber that has not ended the current one, and returns its context.
inline Context& next_fiber(Block& m) {
  do {
    if (++m.current < m.threads) continue;
    m.current = 0;
    if (m.progress == m.before) stuck("its threads wait for one another for ever");
    m.before = m.progress;
  } while (m.fibers[m.current].done);
  m.thread.x = static_cast<unsigned>(m.current);
  return m.fibers[m.current].context;
}

/// Switches from the current fiber to the next. Returns in the fiber's next turn.
inline void yield() {
  Block& m = host_machine;
  Context& mine = m.fibers[m.current].context;
  Context& next = next_fiber(m);
  if (&next != &mine) switch_to(mine, next);
}

inline void run_fiber() {
  Block& m = host_machine;
  m.kernel(m.arguments);
  Fiber& mine = m.fibers[m.current];
  mine.done = true;
  ++m.progress;
  switch_to(mine.context, --m.left > 0 ? next_fiber(m) : m.caller);
}

inline void start(Fiber& fiber) {
  if (fiber.stack == nullptr)
    fiber.stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  prepare(fiber.context, fiber.stack, run_fiber, &machine_of_thread);
  fiber.done = false;
}

/// Runs one thread block: calls kernel(arguments) in each of its threads.
inline void run_block(int threads, Index block, Index grid, void (*kernel)(void*), void* arguments) {
  Block& m = machine_of_thread;
  m.threads = threads, m.block = block, m.grid = grid, m.kernel = kernel, m.arguments = arguments;
  for (Warp& warp : m.warps) warp.used = 0;
  for (Barrier& barrier : m.barriers) barrier = {};
  for (int i = 0; i < threads; ++i) start(m.fibers[i]);
  m.left = threads, m.before = m.progress;
  m.current = 0, m.thread.x = 0;
  switch_to(m.caller, m.fibers[0].context);
}

// ---- thread block clusters: a host thread runs each block, and its thread-local variables are shared memory

constexpr int kMostBlocks = 8;

struct Cluster {
  pthread_barrier_t meeting;
  int threads, blocks, all;  // threads per block, blocks per cluster, blocks of the grid
  char* memory[kMostBlocks];
  void (*kernel)(void*);
  void* arguments;
};
static Cluster cluster;
static __thread char shared_marker;  // a shared variable has the same distance from it in all threads

/// Runs block `number` of each cluster, one after another.
inline void* run_blocks(void* number) {
  const int mine = (int)(size_t)number;
  cluster.memory[mine] = &shared_marker;
  for (int first = 0; first < cluster.all; first += cluster.blocks) {
    pthread_barrier_wait(&cluster.meeting);
    run_block(cluster.threads, {(unsigned)(first + mine)}, {(unsigned)cluster.all}, cluster.kernel,
              cluster.arguments);
  }
  for (Fiber& fiber : machine_of_thread.fibers)
    if (fiber.stack != nullptr) munmap(fiber.stack, kStackBytes);
  return nullptr;
}

/// Runs a grid of `all` blocks in clusters of `blocks` blocks.
inline void run_clusters(int threads, int blocks, int all, void (*kernel)(void*), void* arguments) {
  pthread_t runs[kMostBlocks];
  pthread_barrier_init(&cluster.meeting, nullptr, (unsigned)blocks);
  cluster.threads = threads, cluster.blocks = blocks, cluster.all = all;
  cluster.kernel = kernel, cluster.arguments = arguments;
  for (int i = 0; i < blocks; ++i) pthread_create(&runs[i], nullptr, run_blocks, (void*)(size_t)i);
  for (int i = 0; i < blocks; ++i) pthread_join(runs[i], nullptr);
  pthread_barrier_destroy(&cluster.meeting);
}

/// Waits for all threads of all blocks of the cluster.
inline void cluster_barrier() {
  Barrier& b = host_machine.barriers[kBarriers - 1];
  const unsigned generation = b.generation;
  ++host_machine.progress;
  if (++b.arrived == host_machine.threads) {
    pthread_barrier_wait(&cluster.meeting);
    b.arrived = 0, ++b.generation;
    return;
  }
  while (b.generation == generation) yield();
}

/// Waits until `count` threads of the block have called this function with this id.
inline void barrier(int id, int count) {
  Barrier& b = host_machine.barriers[id];
  const unsigned generation = b.generation;
  ++host_machine.progress;
  if (++b.arrived == count) {
    b.arrived = 0, ++b.generation;
    return;
  }
  while (b.generation == generation) yield();
}

/// Returns the exchange of the current warp for a mask, which is created at its first use.
inline LaneExchange& exchange_of(unsigned mask) {
  Warp& warp = host_machine.warps[host_machine.thread.x / 32];
  for (int i = 0; i < warp.used; ++i)
    if (warp.exchanges[i].mask == mask) return warp.exchanges[i];
  if (warp.used == 40) stuck("a warp synchronises with too many masks");
  const unsigned last = host_machine.thread.x / 32 * 32 + 31 - (unsigned)__builtin_clz(mask);
  if (last >= (unsigned)host_machine.threads) stuck("a mask names lanes that are not there");
  LaneExchange& fresh = warp.exchanges[warp.used++];
  fresh = {mask, (unsigned)__builtin_popcount(mask), 0, {}, {}};
  return fresh;
}

/// Waits until all lanes of the mask have called this function. Returns the `value` that lane `from` has
/// passed.
inline uint64_t rendezvous(unsigned mask, uint64_t value, unsigned from) {
  const unsigned lane = host_machine.thread.x % 32;
  if ((mask >> lane & 1) == 0) stuck("a lane is not in its own mask");
  if ((mask >> from & 1) == 0) stuck("a lane asks one outside of the mask");
  LaneExchange& exchange = exchange_of(mask);
  const unsigned number = exchange.counts[lane]++;
  exchange.slots[lane][number % 2] = value;
  ++host_machine.progress;
  ++exchange.arrivals;
  // No lane begins the next exchange before all have begun this one.
  while (static_cast<int>(exchange.arrivals - (number + 1) * exchange.lanes) < 0) yield();
  return exchange.slots[from][number % 2];
}

}  // namespace host

#define threadIdx (host_machine.thread)
#define blockIdx (host_machine.block)
#define gridDim (host_machine.grid)

inline void __syncthreads() { host::barrier(0, host_machine.threads); }
inline void host_barrier(int id, int count) { host::barrier(id, count); }
inline void __syncwarp(unsigned mask) { host::rendezvous(mask, 0, host_machine.thread.x % 32); }

// Blocks may run in several host threads, so these functions are atomic.
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline unsigned atomicInc(unsigned* at, unsigned last) {
  unsigned old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(at, &old, old >= last ? 0 : old + 1, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
  return old;
}

inline int atomicAdd(int* at, int more) { return __atomic_fetch_add(at, more, __ATOMIC_SEQ_CST); }
inline unsigned atomicAdd(unsigned* at, unsigned more) {
  return __atomic_fetch_add(at, more, __ATOMIC_SEQ_CST);
}

template <typename T>
T host_shuffle(unsigned mask, T value, unsigned from) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  bits = host::rendezvous(mask, bits, from);
  memcpy(&value, &bits, sizeof value);
  return value;
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int distance) {
  return host_shuffle(mask, value, host_machine.thread.x % 32 ^ static_cast<unsigned>(distance));
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, int distance) {
  const unsigned lane = host_machine.thread.x % 32, d = static_cast<unsigned>(distance);
  return host_shuffle(mask, value, lane >= d ? lane - d : lane);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((uint64_t{high} << 32 | low) >> shift % 32);
}
template <typename T>
T __shfl_sync(unsigned mask, T value, int from) {
  return host_shuffle(mask, value, static_cast<unsigned>(from) % 32);
}
inline int __reduce_min_sync(unsigned mask, int x) {
  for (int d = 1; d < 32; d *= 2) {
    const int other = __shfl_xor_sync(mask, x, d);
    x = other < x ? other : x;
  }
  return x;
}
inline int __reduce_max_sync(unsigned mask, int x) {
  for (int d = 1; d < 32; d *= 2) {
    const int other = __shfl_xor_sync(mask, x, d);
    x = other > x ? other : x;
  }
  return x;
}
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline unsigned __ballot_sync(unsigned mask, int vote) {
  const unsigned lane = host_machine.thread.x % 32;
  host::rendezvous(mask, vote != 0, lane);
  const host::LaneExchange& exchange = host::exchange_of(mask);
  unsigned votes = 0;  // no value is overwritten before all lanes have begun the next exchange
  for (unsigned other = 0; other < 32; ++other)
    if (mask >> other & 1)
      votes |= static_cast<unsigned>(exchange.slots[other][(exchange.counts[lane] - 1) % 2]) << other;
  return votes;
}
template <typename T>
T min(T a, T b) {
  return a < b ? a : b;
}
template <typename T>
T max(T a, T b) {
  return a < b ? b : a;
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

inline float __uint_as_float(unsigned bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
inline unsigned __float_as_uint(float x) {
  unsigned bits;
  memcpy(&bits, &x, 4);
  return bits;
}
inline float __int_as_float(int bits) { return __uint_as_float((unsigned)bits); }
inline int __float2int_rz(float x) {
  if (x != x) return 0;
  return x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? -2147483647 - 1 : static_cast<int>(x);
}
inline long long __float2ll_rz(float x) {
  if (x != x) return -9223372036854775807ll - 1;
  return x >= 9223372036854775808.0f   ? 9223372036854775807ll
         : x < -9223372036854775808.0f ? -9223372036854775807ll - 1
                                       : static_cast<long long>(x);
}
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
inline long long __double_as_longlong(double x) {
  long long bits;
  memcpy(&bits, &x, 8);
  return bits;
}
inline double __longlong_as_double(long long bits) {
  double x;
  memcpy(&x, &bits, 8);
  return x;
}
inline int __double2loint(double x) {
  int64_t bits;
  memcpy(&bits, &x, 8);
  return static_cast<int>(bits);
}
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}

inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }

namespace host {

/// Computes mma.m16n8k16: d += A B. `own` are the fragments of this lane: four words of A and two of B, and
/// each word has two 16-bit numbers along k. The lanes of a warp exchange them in `lanes`. `widen` converts a
/// 16-bit number to float.
template <class Widen>
void multiply(float (&d)[4], unsigned (&lanes)[32][6], const unsigned (&own)[6], const Widen& widen) {
  const int lane = threadIdx.x % 32;
  memcpy(lanes[lane], own, sizeof own);
  __syncwarp(~0u);
  const auto half_of = [&](int l, int word, int k) { return widen(lanes[l][word] >> 16 * (k % 2) & 0xffff); };
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4, column = 2 * (lane % 4) + i % 2;
    for (int k = 0; k < 16; ++k)
      d[i] +=
          half_of(4 * row + k % 8 / 2, i / 2 + k / 8 * 2, k) * half_of(4 * column + k % 8 / 2, 4 + k / 8, k);
  }
  __syncwarp(~0u);
}

}  // namespace host

/// The first members of KernelArgs, the arguments of a kernel in a CPU plan (runtime/plan/plan.h).
struct KernelArgs {
  void* const* buffers;
  const int64_t* dims;
  const uint32_t* random_ids;
  uint32_t seed, step, micro_step, reserved;
  int64_t chunk;
};
