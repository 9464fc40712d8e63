#include "codegen/cuda/wgmma_text.h"

#include <fmt/format.h>

namespace smelt {

const std::string_view kWgmmaTypes = R"(
typedef unsigned short Half;
typedef unsigned long long Descriptor;
struct alignas(64) TensorMap { unsigned char bytes[128]; };
struct alignas(16) Piece { unsigned bits[4]; };
struct alignas(16) Four { float x, y, z, w; };

)";

const std::string_view kWgmmaBarriers = R"(
SM unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
SM int load_shared(unsigned from) {
  int value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
  return value;
}
SM void store_shared(unsigned to, int value) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(value) : "memory"); }
SM void store_four(unsigned to, float x, float y, float z, float w) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
}

// ---- barriers in shared memory; a phase ends when all have arrived and all announced bytes are there
SM void barrier_init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// By every lane for itself where lanes have read or written what the barrier guards: one that arrives for its warp is no
// faster, and tools that look for races do not see what it waited for.
SM void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
SM void barrier_expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
SM void barrier_wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra DONE;\n"
      "bra WAIT;\nDONE:\n}" ::"r"(barrier), "r"(parity) : "memory");
}
template <int threads>
SM void named_sync(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(threads) : "memory");
}
template <int threads>
SM void named_arrive(int id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(threads) : "memory");
}
// Ordinary stores to shared memory before the tensor cores or the copy engine read them.
SM void fence_stores() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
)";

const std::string_view kWgmmaProducts = R"(
// ---- wgmma
// A tile of 128-byte rows in shared memory, permuted as TMA does: 16-byte units. Chunks: bytes to the next 64
// elements of an operand whose neighbours along k do not lie together.
SM unsigned describe(unsigned address, unsigned chunk_bytes) { return (address & 0x3FFFF) >> 4 | (chunk_bytes >> 4) << 16; }
SM Descriptor descriptor(unsigned place) { return (Descriptor)(1u << 30 | 1024 >> 4) << 32 | place; }
// The same in all lanes of the warp, and so that the compiler knows it.
SM int uniform(int x) { return __shfl_sync(0xFFFFFFFFu, x, 0); }
SM void multiply_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
SM void multiply_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int groups>
SM void multiply_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}
// Keeps what reads the sums behind the wait before it.
template <int n>
SM void pin(float (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+f"(x[i])::"memory");
}
template <int n>
SM void pin(unsigned (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+r"(x[i])::"memory");
}
// The wait that follows comes after what x is made of: the compiler would wait first.
SM void finish(float x) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %0, -1;\n@p bra DONE;\nnanosleep.u32 0;\nDONE:\n}" ::"r"(__float_as_int(x)) : "memory");
}
template <int n>
SM void clear(float (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] = 0.0f;
}

SM unsigned pack(float low, float high) {
  unsigned both;
  asm("cvt.rn." HALF_TYPE "x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// The low one of two numbers that pack has rounded.
SM float low_of(unsigned both) {
  if (HALF_TYPE[0] == 'b') return __uint_as_float(both << 16);
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)both));
  return x;
}
// The high one.
SM float high_of(unsigned both) {
  if (HALF_TYPE[0] == 'b') return __uint_as_float(both & 0xFFFF0000u);
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)(both >> 16)));
  return x;
}

// ---- lanes
// Lanes of a quad: word i of lane j becomes word j of lane i.
SM void transpose_quad(unsigned (&w)[4]) {
  const int lane = threadIdx.x & 3;
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & bit) continue;
      const bool upper = lane & bit;
      const unsigned other = __shfl_xor_sync(0xFFFFFFFFu, upper ? w[i] : w[i | bit], bit);
      if (upper) w[i] = other;
      else w[i | bit] = other;
    }
}
// One row's columns of an accumulator times a factor, 16 bytes a store: a quad holds two columns of each 8 a lane.
template <int n>
SM void store_row(Half* row, bool there, const float (&x)[n], int upper, float factor, int columns) {
  const int lane = threadIdx.x & 3;
#pragma unroll
  for (int g = 0; g < n / 4; g += 4) {
    unsigned w[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = 4 * (g + i) + 2 * upper;
      w[i] = g + i < n / 4 ? pack(x[at < n ? at : 0] * factor, x[at < n ? at + 1 : 1] * factor) : 0;
    }
    transpose_quad(w);
    const int column = 8 * (g + lane);
    if (there && column < columns) *(Piece*)(row + column) = Piece{{w[0], w[1], w[2], w[3]}};
  }
}
)";

namespace {

std::string operands(int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}", i ? ", " : "", first + i);
  return text;
}

/// One that adds, or one whose sums begin: they are no operand of it, and so not alive before.
std::string wgmma_function(const WgmmaShape& shape, DType dtype, bool add) {
  const int sums = shape.columns / 2, a_operands = shape.a_in_registers ? 4 : 1;
  std::string sum_operands, a_text;
  for (int i = 0; i < sums; ++i)
    sum_operands += fmt::format("{}\"{}f\"(d[{}])", i ? ", " : "", add ? '+' : '=', i);
  for (int i = 0; i < a_operands; ++i)
    a_text += shape.a_in_registers ? fmt::format("\"r\"(a[{}]), ", i) : "\"l\"(descriptor(a)), ";
  return fmt::format(
      "SM void {0}_{1}(float (&d)[{2}], {3}, unsigned b) {{\n"
      "  asm volatile(\"{{\\n.reg .pred p;\\nsetp.ne.b32 p, {4}, 0;\\n\"\n"
      "               \"wgmma.mma_async.sync.aligned.m64n{5}k16.f32.{6}.{6} {{{7}}}, {8}, %{9}, p, 1, 1{10}, "
      "{11};\\n}}\"\n"
      "               : {12}\n               : {13}\"l\"(descriptor(b)));\n}}\n",
      add ? "multiply" : "begin", shape.name, sums, shape.a_in_registers ? "const unsigned* a" : "unsigned a",
      int{add}, shape.columns, half_text(dtype), operands(0, sums),
      shape.a_in_registers ? fmt::format("{{{}}}", operands(sums, 4)) : fmt::format("%{}", sums),
      sums + a_operands, shape.a_in_registers ? "" : fmt::format(", {}", int{shape.a_transposed}),
      int{shape.b_transposed}, sum_operands, a_text);
}

}  // namespace

std::string_view half_text(DType dtype) { return dtype == DType::bf16 ? "bf16" : "f16"; }

std::string wgmma_functions(const WgmmaShape& shape, DType dtype) {
  return wgmma_function(shape, dtype, false) + wgmma_function(shape, dtype, true);
}

}  // namespace smelt
