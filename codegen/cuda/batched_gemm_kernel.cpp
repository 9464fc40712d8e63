#include "codegen/cuda/batched_gemm_kernel.h"

#include <fmt/format.h>

#include "codegen/cuda/template_arguments.h"

namespace smelt {
namespace {

/// Rows, columns and depth of a tile; threads of a block; bytes of a stage: a tile of A and one of B.
constexpr int64_t kTile = 64, kThreads = 128, kStageBytes = 16 << 10, kStages = 2;
/// Elements; it keeps a tile's places in 32 bits.
constexpr int64_t kPitchesBelow = int64_t{1} << 24;
/// Bytes that divide all addresses, pitches and strides.
constexpr int64_t kAlignment = 16;

/// Tiles of 64 x 64 x 64 in two buffers: the next tile is loaded while one is multiplied. Where k ends with
/// the first tile, the launch asks for one buffer. Rows of a tile are 128 bytes. Their 16-byte pieces are
/// permuted by the row, so that eight rows of one column are in different banks. Matmuls are small, and a
/// block mostly waits. So eight blocks share a multiprocessor (six, with two buffers), which leaves 64
/// registers and hence no unrolled steps along k.
constexpr std::string_view kBody = R"(
SM unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Sixteen bytes, of which `bytes` come from memory and the others are zero.
SM void copy_async(unsigned to, const Half* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}

// 64 rows of 64 elements from row, column on; what lies outside of rows x columns is zero.
SM void load_tile(unsigned tile, const Half* matrix, int pitch, int row, int column, int rows, int columns) {
  const Half* from = matrix + (long long)row * pitch + column;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int piece = threadIdx.x + 128 * i, r = piece >> 3, c = piece & 7;
    const int there = columns - column - 8 * c, bytes = row + r < rows ? min(max(2 * there, 0), 16) : 0;
    const Half* place = bytes > 0 ? from + (r * pitch + 8 * c) : matrix;
    copy_async(tile + 128 * r + ((c ^ (r & 7)) << 4), place, bytes);
  }
}

SM unsigned place_in(unsigned tile, int row, int piece) { return tile + 128 * row + ((piece ^ (row & 7)) << 4); }

SM void load_fragments(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address));
}
SM void load_transposed(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address));
}

SM void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A block: one tile of one matmul's result. Four warps, 32 x 32 of it each.
extern "C" __global__ void __launch_bounds__(128, 8)
    KERNEL(const Half* a, const Half* b, Result* c, long long m_, long long n_, long long k_, long long a_pitch,
           long long b_pitch, long long c_pitch, BATCH_PARAMETERS, float alpha) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int m = (int)m_, n = (int)n_, k = (int)k_;
  const int column_tiles = (n + 63) / 64, tiles = (m + 63) / 64 * column_tiles;
  const int tile = blockIdx.x % tiles;
  const int row0 = tile / column_tiles * 64, column0 = tile % column_tiles * 64;
  int product = blockIdx.x / tiles;
  MOVE_TO_PRODUCT

  const unsigned base = shared_address(memory);
  const auto load_stage = [&](int at) {
    const unsigned stage = base + (at & 1) * 16384;
#if A_BY_K
    load_tile(stage, a, (int)a_pitch, row0, 64 * at, m, k);
#else
    load_tile(stage, a, (int)a_pitch, 64 * at, row0, k, m);
#endif
#if B_BY_K
    load_tile(stage + 8192, b, (int)b_pitch, column0, 64 * at, n, k);
#else
    load_tile(stage + 8192, b, (int)b_pitch, 64 * at, column0, k, n);
#endif
    asm volatile("cp.async.commit_group;");
  };

  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int warp_row = (warp & 1) * 32, warp_column = (warp >> 1) * 32;
  float sums[2][4][4] = {};
  const int stages = (k + 63) / 64;
  load_stage(0);
  for (int at = 0; at < stages; ++at) {
    if (at + 1 < stages) {
      load_stage(at + 1);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    const unsigned as = base + (at & 1) * 16384, bs = as + 8192;
#pragma unroll 1
    for (int step = 0; step < 4; ++step) {  // sixteen along k
      unsigned af[2][4], bf[2][4];
#pragma unroll
      for (int t = 0; t < 2; ++t) {
        const int row = warp_row + 16 * t, column = warp_column + 16 * t;
#if A_BY_K
        load_fragments(af[t], place_in(as, row + (lane & 15), 2 * step + (lane >> 4)));
#else
        load_transposed(af[t], place_in(as, 16 * step + (lane & 7) + (lane >> 4 << 3), (row >> 3) + (lane >> 3 & 1)));
#endif
#if B_BY_K
        load_fragments(bf[t], place_in(bs, column + (lane & 7) + (lane >> 4 << 3), 2 * step + (lane >> 3 & 1)));
#else
        load_transposed(bf[t], place_in(bs, 16 * step + (lane & 7) + ((lane >> 3 & 1) << 3), (column >> 3) + (lane >> 4)));
#endif
      }
#pragma unroll
      for (int t = 0; t < 2; ++t)
#pragma unroll
        for (int u = 0; u < 4; ++u) multiply(sums[t][u], af[t], bf[u >> 1][2 * (u & 1)], bf[u >> 1][2 * (u & 1) + 1]);
    }
    __syncthreads();
  }

  // Through shared memory, so that whole rows go out. Pieces of sixteen bytes, permuted by the row.
  constexpr int kPieces = 64 * sizeof(Result) / 16, kInPiece = 16 / sizeof(Result);
  Result* staged = (Result*)memory;
  const auto in_stage = [&](int r, int at) { return r * 64 + ((at / kInPiece ^ (r & 7)) * kInPiece) + at % kInPiece; };
#pragma unroll
  for (int t = 0; t < 2; ++t)
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
      for (int e = 0; e < 4; e += 2)
        put_pair(staged + in_stage(warp_row + 16 * t + (lane >> 2) + 4 * e, warp_column + 8 * u + 2 * (lane & 3)),
                 alpha * sums[t][u][e], alpha * sums[t][u][e + 1]);
  __syncthreads();
  for (int piece = threadIdx.x; piece < 64 * kPieces; piece += 128) {
    const int r = piece / kPieces, at = piece % kPieces * kInPiece, row = row0 + r, column = column0 + at;
    if (row >= m || column >= n) continue;
    const Result* from = staged + in_stage(r, at);
    Result* to = c + row * c_pitch + column;
    if (column + kInPiece <= n) {
      *(Piece*)to = *(const Piece*)from;
    } else {
      for (int e = 0; column + e < n; ++e) to[e] = from[e];
    }
  }
}
)";

std::string_view type_text(DType dtype) {
  if (dtype == DType::f32) return "float";
  return dtype == DType::bf16 ? "bf16" : "f16";
}

/// Returns the text that stores two neighbouring sums to the result.
std::string put_pair_text(DType dtype) {
  if (dtype == DType::f32)
    return "SM void put_pair(float* to, float x, float y) { *(float2*)to = make_float2(x, y); }\n";
  return fmt::format(R"(struct {0} {{ unsigned short bits; }};
SM void put_pair({0}* to, float x, float y) {{
  asm("cvt.rn.{0}x2.f32 %0, %1, %2;" : "=r"(*(unsigned*)to) : "f"(y), "f"(x));
}}
)",
                     type_text(dtype));
}

/// Extents of all batch axes but the outermost, then a stride of each matrix for each axis.
std::string batch_parameters(size_t axes) {
  std::string text;
  for (size_t axis = 1; axis < axes; ++axis) text += fmt::format("long long extent{}, ", axis);
  for (size_t axis = 0; axis < axes; ++axis)
    text += fmt::format("{0}long long a{1}, long long b{1}, long long c{1}", axis > 0 ? ", " : "", axis);
  return text;
}

/// Returns the text that moves from the number of a product to its matrices, the innermost axis first.
std::string move_to_product(size_t axes) {
  std::string text;
  for (size_t axis = axes; axis-- > 1;)
    text += fmt::format(
        "{{ const long long i = product % (int)extent{0}; product /= (int)extent{0}; "
        "a += i * a{0}, b += i * b{0}, c += i * c{0}; }} ",
        axis);
  return text + "a += product * a0, b += product * b0, c += product * c0;";
}

/// Returns the launch: the names of the step's fields, in the order of the kernel's parameters.
TemplateLaunch launch_of(const BatchedGemm& gemm) {
  const Dim a_pitch = field(gemm.a_by_k ? "a_row_stride" : "a_column_stride"),
            b_pitch = field(gemm.b_by_k ? "b_column_stride" : "b_row_stride"),
            c_pitch = field("c_row_stride");
  const Dim m = field("m"), n = field("n"), k = field("k");
  TemplateLaunch launch{.step = "gemm"};
  for (const char* matrix : {"a", "b"})
    launch.arguments.push_back(address(matrix, gemm.dtype, PlaceUse::read, kAlignment));
  launch.arguments.push_back(address("c", gemm.result_dtype, PlaceUse::write, kAlignment));
  for (const Dim& number : {m, n, k, a_pitch, b_pitch, c_pitch}) launch.arguments.push_back(integer(number));
  Dim products = field("batch0_extent");
  for (size_t axis = 1; axis < gemm.axes; ++axis) {
    const Dim extent = field(fmt::format("batch{}_extent", axis));
    launch.arguments.push_back(integer(extent));
    products *= extent;
  }
  const auto condition = [&](const Dim& elements, DType dtype, int64_t below) {
    launch.conditions.push_back({elements * size_of(dtype), kAlignment, below});
  };
  const auto pitch_of = [&](const Dim& pitch, DType dtype) {
    condition(pitch, dtype, kPitchesBelow * size_of(dtype));
  };
  for (const char* one : {gemm.a_by_k ? "a_column_stride" : "a_row_stride",
                          gemm.b_by_k ? "b_row_stride" : "b_column_stride", "c_column_stride"})
    launch.conditions.push_back({field(one), 1, 2}), launch.conditions.push_back({1 - field(one), 1, 1});
  pitch_of(a_pitch, gemm.dtype), pitch_of(b_pitch, gemm.dtype), pitch_of(c_pitch, gemm.result_dtype);
  for (size_t axis = 0; axis < gemm.axes; ++axis)
    for (const char* matrix : {"a", "b", "c"}) {
      const Dim stride = field(fmt::format("batch{}_{}_stride", axis, matrix));
      launch.arguments.push_back(integer(stride));
      condition(stride, *matrix == 'c' ? gemm.result_dtype : gemm.dtype, TemplateLaunch::Condition{}.below);
    }
  launch.arguments.push_back(real("alpha"));
  launch.blocks = products * ceil_div(m, kTile) * ceil_div(n, kTile);
  launch.shared_bytes = ceil_div(k, kTile) * kStageBytes;
  return launch;
}

}  // namespace

KernelCode batched_gemm_kernel(const BatchedGemm& gemm) {
  KernelCode kernel;
  kernel.name = gemm.name();
  kernel.range = 1;  // the step says how many
  kernel.threads = kThreads;
  kernel.shared_bytes = kStages * kStageBytes;
  kernel.launch = launch_of(gemm);
  kernel.source = fmt::format(
      "// Matmuls of many small matrices on the tensor cores: A by {}, B by {}.\n"
      "#define SM static __device__ __forceinline__\n"
      "#define KERNEL {}\n#define MMA_TYPE \"{}\"\n#define A_BY_K {}\n#define B_BY_K {}\n"
      "#define BATCH_PARAMETERS {}\n#define MOVE_TO_PRODUCT {}\n"
      "struct alignas(16) Piece {{ unsigned bits[4]; }};\n{}typedef unsigned short Half;\ntypedef {} "
      "Result;\n{}",
      gemm.a_by_k ? "k" : "m", gemm.b_by_k ? "k" : "n", kernel.name, type_text(gemm.dtype), int{gemm.a_by_k},
      int{gemm.b_by_k}, batch_parameters(gemm.axes), move_to_product(gemm.axes),
      put_pair_text(gemm.result_dtype), type_text(gemm.result_dtype), kBody);
  return kernel;
}

}  // namespace smelt
