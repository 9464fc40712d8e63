#include "codegen/cuda/few_rows/few_rows_kernel.h"

#include <fmt/format.h>

#include "codegen/cuda/prelude.h"
#include "codegen/cuda/template_arguments.h"

namespace smelt {

/// Weights go past the L1 cache, which A keeps: all blocks of a multiprocessor read it again. The L2 fetches
/// 128 bytes of a row at once, which neighbouring warps ask for in halves.
const std::string_view kFewRowsInstructions = R"(
SM void load_weights(void* to, const Half* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
               "r"(is_there ? 16 : 0) : "memory");
}
SM void end_piece() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until no more than `left` of the pieces that this thread has begun are on their way.
template <int left>
SM void wait_for_pieces() { asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory"); }
SM void load_row(unsigned (&to)[4], const Half* from, bool is_there) {
  asm volatile("{.reg .pred p; setp.ne.s32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0;\n"
               "@p ld.global.v4.b32 {%0,%1,%2,%3}, [%4];}"
               : "=&r"(to[0]), "=&r"(to[1]), "=&r"(to[2]), "=&r"(to[3]) : "l"(from), "r"((int)is_there));
}
SM void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
)";

namespace {

constexpr int64_t kWarps = 8, kThreads = 32 * kWarps;
/// Two for each of the 132 multiprocessors of an H100 or H200.
constexpr int kMostBlocks = 264;
/// Between columns of partial sums in shared memory, beyond the weights: the four lanes that hold
/// neighbouring columns then write to different banks.
constexpr int64_t kPadding = 4;
constexpr int64_t kAlignment = 16;
/// Rounds whose pieces of A are in registers or on their way there: a round takes less time than the L2 does.
int rounds_ahead(const FewRows& few) { return few.rows == 8 ? 6 : 4; }
/// Elements; they keep places in 32 bits.
constexpr int64_t kDepthsBelow = int64_t{1} << 30, kPitchesBelow = int64_t{1} << 24;

/// The tensor cores take weights as their operand of 16 rows and the rows of A as that of 8 columns. Both
/// operands are summed in any order of k, as long as it is the same: so a lane's elements are those of 16
/// bytes that lie together, and a lane needs the weights that it has loaded itself alone. It keeps them in a
/// ring in shared memory, which holds more of them on their way than registers would. The warps of a block
/// have pieces of 32 elements along k in turns; where a piece ends beyond k it is zero. A block takes one
/// tile after the other, and loads go on from one to the next.
constexpr std::string_view kBody = R"(
// A tile: WEIGHTS rows of B^T by up to ROWS rows of A.
extern "C" __global__ void __launch_bounds__(256, 2)
    KERNEL(const Half* a, const Half* b, Result* c, BIAS_PARAMETER long long m_, long long n_, long long k_,
           long long a_pitch_, long long b_pitch, long long c_pitch, float alpha) {
  extern __shared__ __align__(16) uint4 ring[];
  float* const partial = (float*)(ring + DEPTH * PARTS * 256);
  const int m = (int)m_, n = (int)n_, k = (int)k_, a_pitch = (int)a_pitch_;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, quarter = lane & 3;
  const int own = 32 * warp + 8 * quarter, rounds = (k + 255) / 256;

  int next_first = blockIdx.x * WEIGHTS, next_round = 0;
  const auto load_piece = [&](int slot) {
    const int at = own + 256 * next_round;
    if (next_first < n)
#pragma unroll
      for (int i = 0; i < PARTS; ++i)
        load_weights(&ring[(slot * PARTS + i) * 256 + threadIdx.x],
                     b + min(next_first + 8 * i + group, n - 1) * b_pitch + min(at, k - 8), at < k);
    end_piece();
    if (++next_round == rounds) next_round = 0, next_first += gridDim.x * WEIGHTS;
  };
  sm_allow_next_launch();
  for (int i = 0; i < DEPTH; ++i) load_piece(i);
  sm_wait_for_launches();

  unsigned as[AHEAD][ROWS / 8][4];
  const auto load_rows = [&](unsigned (&to)[ROWS / 8][4], int round) {
    const int at = own + 256 * round;
#pragma unroll
    for (int i = 0; i < ROWS / 8; ++i) load_row(to[i], a + (8 * i + group) * a_pitch + at, 8 * i + group < m && at < k);
  };
  int slot = 0;
  for (int first = blockIdx.x * WEIGHTS; first < n; first += gridDim.x * WEIGHTS) {
    float sums[(PARTS + 1) / 2][ROWS / 8][4] = {};
#pragma unroll
    for (int i = 0; i < AHEAD - 1; ++i) load_rows(as[i], i);
    for (int round = 0; round < rounds; round += AHEAD) {
#pragma unroll
      for (int i = 0; i < AHEAD; ++i) {
        if (round + i >= rounds) break;
        load_rows(as[(i + AHEAD - 1) % AHEAD], round + i + AHEAD - 1);
        wait_for_pieces<DEPTH - 1>();
        unsigned w[PARTS + PARTS % 2][4] = {};
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
          const uint4 piece = ring[(slot * PARTS + part) * 256 + threadIdx.x];
          w[part][0] = piece.x, w[part][1] = piece.y, w[part][2] = piece.z, w[part][3] = piece.w;
        }
#pragma unroll
        for (int half = 0; half < 4; half += 2)
#pragma unroll
          for (int t = 0; t < (PARTS + 1) / 2; ++t)
#pragma unroll
            for (int u = 0; u < ROWS / 8; ++u)
              multiply(sums[t][u], w[2 * t][half], w[2 * t + 1][half], w[2 * t][half + 1], w[2 * t + 1][half + 1],
                       as[i][u][half], as[i][u][half + 1]);
        load_piece(slot);
        slot = slot + 1 == DEPTH ? 0 : slot + 1;
      }
    }

    // The warps' sums are added in their order.
#pragma unroll
    for (int t = 0; t < (PARTS + 1) / 2; ++t)
#pragma unroll
      for (int u = 0; u < ROWS / 8; ++u)
#pragma unroll
        for (int e = 0; e < (PARTS == 1 ? 2 : 4); ++e)
          partial[(warp * ROWS + 8 * u + 2 * quarter + e % 2) * PITCH + 16 * t + group + e / 2 * 8] = sums[t][u][e];
    __syncthreads();
    for (int i = threadIdx.x; i < WEIGHTS * ROWS; i += 256) {
      const int row = i / WEIGHTS, column = first + i % WEIGHTS;
      if (row >= m || column >= n) continue;
      float sum = 0.0f;
#pragma unroll
      for (int from = 0; from < 8; ++from) sum += partial[(from * ROWS + row) * PITCH + i % WEIGHTS];
      sm_put(c[row * c_pitch + column], alpha * sum BIAS);
    }
    __syncthreads();
  }
}
)";

/// For loads that are on their way while a block works.
int64_t shared_bytes(const FewRows& few) {
  const int64_t ring = few.depth * (few.weights / 8) * kThreads * kAlignment;
  return ring + kWarps * few.rows * (few.weights + kPadding) * int64_t{sizeof(float)};
}

/// By the names of the step's fields, in the order of the kernel's parameters.
TemplateLaunch launch_of(const FewRows& few) {
  const Dim m = field("m"), n = field("n"), k = field("k"), a_pitch = field("a_row_stride"),
            b_pitch = field("b_column_stride");
  TemplateLaunch launch{.step = "gemm"};
  launch.arguments = {address("a", few.dtype, PlaceUse::read, kAlignment),
                      address("b", few.dtype, PlaceUse::read, kAlignment),
                      address("c", few.result_dtype, PlaceUse::write)};
  if (few.has_bias) launch.arguments.push_back(address("bias", few.result_dtype, PlaceUse::read));
  for (const Dim& number : {m, n, k, a_pitch, b_pitch, field("c_row_stride")})
    launch.arguments.push_back(integer(number));
  launch.arguments.push_back(real("alpha"));
  const int64_t size = size_of(few.dtype);
  launch.conditions = {{m, 1, few.rows + 1},
                       {n, 1, few.columns_below},
                       {Dim(0) - k, 1, 1 - few.least_sums},
                       {k * size, kAlignment, kDepthsBelow * size},
                       {a_pitch * size, kAlignment, kPitchesBelow * size},
                       {b_pitch * size, kAlignment}};
  launch.blocks = ceil_div(n, few.weights);
  launch.shared_bytes = shared_bytes(few);
  return launch;
}

std::string source_of(const FewRows& few) {
  const std::string_view result = cuda_memory_type(few.result_dtype);
  PreludeNeeds needs;
  need_element(needs, few.result_dtype), need_calls(needs, kBody);
  return fmt::format(
      "// A matmul of at most {} rows by weights, whose reading is what takes time.\n"
      "#define SM static __device__ __forceinline__\n"
      "#define KERNEL {}\n#define MMA_TYPE \"{}\"\n#define ROWS {}\n#define WEIGHTS {}\n#define PARTS {}\n"
      "#define PITCH {}\n#define DEPTH {}\n#define AHEAD {}\n#define BIAS_PARAMETER {}\n#define BIAS {}\n"
      "{}typedef unsigned short Half;\ntypedef {} Result;\n{}{}",
      few.rows, few.name(), cuda_memory_type(few.dtype), few.rows, few.weights, few.weights / 8,
      few.weights + kPadding, few.depth, rounds_ahead(few), few.has_bias ? "const Result* bias," : "",
      few.has_bias ? "+ sm_get(bias[column])" : "", cuda_prelude(needs), result, kFewRowsInstructions, kBody);
}

}  // namespace

KernelCode few_rows_kernel(const FewRows& few) {
  KernelCode kernel;
  kernel.name = few.name();
  kernel.range = 1;  // the step says how many
  kernel.threads = kThreads;
  kernel.waits = true;
  kernel.most_blocks = kMostBlocks;
  kernel.launch = launch_of(few);
  kernel.shared_bytes = kernel.launch->shared_bytes.constant().value();
  kernel.source = source_of(few);
  return kernel;
}

}  // namespace smelt
