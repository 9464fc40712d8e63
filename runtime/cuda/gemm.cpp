#include "runtime/cuda/gemm.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/cuda/algorithm_choice.h"

namespace smelt::cuda {
namespace {

using Batch = GemmSizes::Batch;

/// Without axes of one, and neighbours joined where the outer one continues the inner.
std::vector<Batch> collapsed(const std::vector<Batch>& axes, bool reduced) {
  std::vector<Batch> result;
  for (const Batch& axis : axes) {
    if (axis.extent == 1 || axis.reduced != reduced) continue;
    if (!result.empty()) {
      Batch& last = result.back();
      if (last.a == axis.extent * axis.a && last.b == axis.extent * axis.b &&
          last.c == axis.extent * axis.c) {
        last = {last.extent * axis.extent, axis.a, axis.b, axis.c, reduced};
        continue;
      }
    }
    result.push_back(axis);
  }
  return result;
}

int64_t count(const std::vector<Batch>& axes) {
  int64_t product = 1;
  for (const Batch& axis : axes) product *= axis.extent;
  return product;
}

std::vector<Batch> take_all_but_longest(std::vector<Batch>& axes) {
  const auto longest = std::ranges::max_element(axes, {}, &Batch::extent);
  const Batch kept = *longest;
  axes.erase(longest);
  return std::exchange(axes, {kept});
}

/// Returns the begin of the index-th matrix of the axes.
Batch offset(const std::vector<Batch>& axes, int64_t index) {
  Batch at{.extent = 1, .a = 0, .b = 0, .c = 0};
  for (size_t i = axes.size(); i-- > 0;) {
    const int64_t digit = index % axes[i].extent;
    index /= axes[i].extent;
    at.a += digit * axes[i].a, at.b += digit * axes[i].b, at.c += digit * axes[i].c;
  }
  return at;
}

/// A matrix as columns: its pitch, and whether the library has to read it transposed.
struct Columns {
  bool transposed;
  int64_t pitch;
};

Columns columns_of(const GemmSizes::Matrix& matrix, int64_t rows, int64_t columns) {
  if (matrix.row_stride == 1 && (matrix.column_stride >= rows || columns == 1))
    return {false, std::max(matrix.column_stride, rows)};
  if (matrix.column_stride == 1 && (matrix.row_stride >= columns || rows == 1))
    return {true, std::max(matrix.row_stride, columns)};
  return {false, -1};
}

bool has_columns_together(const GemmSizes& s) {
  return s.c.row_stride == 1 && (s.c.column_stride != 1 || s.n == 1 || s.m == 1);
}

int64_t divisor_up_to(int64_t value, int64_t limit) {
  return value == 0 ? limit : std::min(limit, value & -value);
}

}  // namespace

GemmSizes transposed(const GemmSizes& s) {
  GemmSizes t = s;
  const auto flip = [](const GemmSizes::Matrix& m) {
    return GemmSizes::Matrix{m.column_stride, m.row_stride};
  };
  t.m = s.n, t.n = s.m;
  t.a = flip(s.b), t.b = flip(s.a), t.c = flip(s.c);
  for (Batch& axis : t.batch) std::swap(axis.a, axis.b);
  return t;
}

std::string GemmProblem::bucket() const {
  const auto pitch = [&](int64_t p) { return divisor_up_to(p, 64); };
  return fmt::format("{}{}>{} {}{}{}{}{} m{} n{} k{} b{} pitch {}/{}/{} at {}", in_order ? "in order " : "",
                     tf32 ? "tf32" : name(dtype), name(result_dtype), transpose_a ? 'T' : 'N',
                     transpose_b ? 'T' : 'N', accumulates ? "+" : "", by_pointers ? "*" : "",
                     has_bias ? "b" : "", size_bucket(m), size_bucket(n), size_bucket(k), size_bucket(batch),
                     pitch(a_pitch), pitch(b_pitch), pitch(c_pitch), alignment);
}

GemmKey GemmProblem::key() const {
  constexpr double kLarge = 1 << 29;  // multiplications
  const bool large = double(m) * double(n) * double(k) * double(batch) >= kLarge;
  return {bucket(), large ? fmt::format("m{} n{} k{} b{}", m, n, k, batch) : ""};
}

PreparedGemm::PreparedGemm(const Device& device, const GemmSizes& given, DevicePointer a, DevicePointer b,
                           DevicePointer c, const std::string& place, const GemmExtras& extras)
    : device_(&device), alpha_(static_cast<float>(given.alpha)) {
  if (given.m == 0 || given.n == 0) return;
  const DevicePointer bias = extras.bias;
  // A bias runs along the library's rows, which are our columns.
  const bool swapped = !has_columns_together(given) || bias != 0;
  GemmSizes sizes = swapped ? transposed(given) : given;
  if (swapped) std::swap(a, b);
  pad_lines(sizes, a, b);
  const Columns as = columns_of(sizes.a, sizes.m, sizes.k), bs = columns_of(sizes.b, sizes.k, sizes.n),
                cs = columns_of(sizes.c, sizes.m, sizes.n);
  problem_ = {.dtype = given.dtype,
              .result_dtype = given.result_dtype,
              .transpose_a = as.transposed,
              .transpose_b = bs.transposed,
              .m = sizes.m,
              .n = sizes.n,
              .k = sizes.k,
              .a_pitch = as.pitch,
              .b_pitch = bs.pitch,
              .c_pitch = cs.pitch};
  problem_.has_bias = bias != 0, problem_.tf32 = given.tf32, problem_.in_order = given.in_order;
  const std::vector<Batch> outer = collapsed(sizes.batch, false);
  if (count(outer) == 0) return;
  const bool sums_nothing = sizes.k == 0 || count(collapsed(sizes.batch, true)) == 0;
  if (cs.pitch < 0 || cs.transposed || (!sums_nothing && (as.pitch < 0 || bs.pitch < 0)))
    fail_with(Status::internal, "{}: a matmul with strides that cuBLASLt has no call for", place);
  if (bias != 0 && !collapsed(sizes.batch, true).empty())
    fail_with(Status::invalid_argument, "{}: a sum over a batch with a bias", place);
  if (sums_nothing) {
    if (bias != 0 || (sizes.beta != 0 && sizes.beta != 1))
      fail_with(Status::invalid_argument, "{}: an empty sum with a bias or a scaled result", place);
    if (sizes.beta == 0) note_zeros(outer, c);
    return;
  }
  make_calls(sizes, a, b, c);
  describe(extras);
}

void PreparedGemm::pad_lines(GemmSizes& sizes, DevicePointer a, DevicePointer b) {
  constexpr int64_t kUnit = GemmStep::kLineElements;
  const int64_t rest = sizes.padded ? sizes.k % kUnit : 0;
  if (rest == 0) return;
  const auto note = [&](DevicePointer begin, int64_t lines, int64_t pitch) {
    zeros_.push_back({begin + static_cast<DevicePointer>(sizes.k), static_cast<size_t>(kUnit - rest),
                      static_cast<size_t>(lines), static_cast<size_t>(pitch)});
  };
  note(a, sizes.m, sizes.a.row_stride), note(b, sizes.n, sizes.b.column_stride);
  sizes.k += kUnit - rest;
}

/// The results of empty sums: a stretch of memory each, or one a column where these have gaps.
void PreparedGemm::note_zeros(const std::vector<Batch>& outer, DevicePointer c) {
  const auto width = static_cast<DevicePointer>(size_of(problem_.result_dtype));
  const bool dense = problem_.c_pitch == problem_.m;
  for (int64_t i = 0; i < count(outer); ++i)
    for (int64_t column = 0; column < (dense ? 1 : problem_.n); ++column) {
      const auto begin = static_cast<DevicePointer>(offset(outer, i).c + column * problem_.c_pitch);
      const int64_t elements = dense ? problem_.m * problem_.n : problem_.m;
      zeros_.push_back({c + begin * width, static_cast<size_t>(elements) * width});
    }
}

/// One call where the batch has a single stride, else by pointers; sums over batches follow each other. The
/// library adds no bias by pointers: then the longest axis is a call's, and the others' matrices follow too.
void PreparedGemm::make_calls(const GemmSizes& sizes, DevicePointer a, DevicePointer b, DevicePointer c) {
  std::vector<Batch> outer = collapsed(sizes.batch, false), following = collapsed(sizes.batch, true);
  if (problem_.has_bias && outer.size() > 1) following = take_all_but_longest(outer);
  const auto in = static_cast<DevicePointer>(size_of(sizes.dtype)),
             out = static_cast<DevicePointer>(size_of(sizes.result_dtype));
  const auto place = [&](const Batch& x, const Batch& y, float beta) {
    return Call{a + static_cast<DevicePointer>(x.a + y.a) * in,
                b + static_cast<DevicePointer>(x.b + y.b) * in,
                c + static_cast<DevicePointer>(x.c + y.c) * out, beta};
  };
  problem_.batch = count(outer);
  problem_.by_pointers = outer.size() > 1;
  if (outer.size() == 1)
    problem_.a_stride = outer[0].a, problem_.b_stride = outer[0].b, problem_.c_stride = outer[0].c;
  std::vector<Call> matrices;  // by pointers: those of every matrix of every call
  for (int64_t call = 0; call < count(following); ++call) {
    const bool adds = call > 0 && following.front().reduced;
    const auto beta = adds ? 1.0F : static_cast<float>(sizes.beta);
    problem_.accumulates |= beta != 0;
    calls_.push_back(place({.extent = 1}, offset(following, call), beta));
    for (int64_t i = 0; i < problem_.batch && problem_.by_pointers; ++i)
      matrices.push_back(place(offset(outer, i), offset(following, call), beta));
  }
  const auto aligned = [&](DevicePointer p) {
    problem_.alignment = divisor_up_to(static_cast<int64_t>(p), problem_.alignment);
  };
  for (const Call& call : problem_.by_pointers ? matrices : calls_)
    aligned(call.a), aligned(call.b), aligned(call.c);
  problem_.alignment = std::min<int64_t>(problem_.alignment, 16);
  first_result_ = problem_.by_pointers ? matrices.front().c : calls_.front().c;
  if (problem_.by_pointers) make_pointers(matrices);
}

/// Three lists a call in device memory; the call then points to its lists.
void PreparedGemm::make_pointers(const std::vector<Call>& matrices) {
  std::vector<DevicePointer> lists;
  const auto batch = static_cast<size_t>(problem_.batch);
  for (size_t begin = 0; begin < matrices.size(); begin += batch)
    for (const auto member : {&Call::a, &Call::b, &Call::c})
      for (size_t i = 0; i < batch; ++i) lists.push_back(matrices[begin + i].*member);
  const auto bytes = static_cast<int64_t>(lists.size() * sizeof(DevicePointer));
  pointers_ = device_block(*device_, bytes);
  check(driver().MemcpyHtoDAsync(pointers_.get(), lists.data(), static_cast<size_t>(bytes), nullptr),
        "copying pointers");
  check(driver().StreamSynchronize(nullptr), "copying pointers");
  for (size_t i = 0; i < calls_.size(); ++i) {
    const DevicePointer list = pointers_.get() + 3 * i * batch * sizeof(DevicePointer);
    calls_[i].a = list, calls_[i].b = list + batch * sizeof(DevicePointer);
    calls_[i].c = list + 2 * batch * sizeof(DevicePointer);
  }
}

void PreparedGemm::describe(const GemmExtras& extras) {
  blas_ = device_->blas();
  const CublasLt& lt = cublas_lt();
  LtDescriptorTag* descriptor = nullptr;
  check_blas(lt.MatmulDescCreate(&descriptor, compute_type(),
                                 data_type(problem_.is_whole() ? DType::i32 : DType::f32)),
             "describing a matmul");
  descriptor_ = LtDescriptor(descriptor);
  for (const auto& [attribute, transposed] :
       {std::pair(kTransposeA, problem_.transpose_a), {kTransposeB, problem_.transpose_b}}) {
    const int32_t value = transposed ? 1 : 0;
    check_blas(lt.MatmulDescSetAttribute(descriptor, attribute, &value, sizeof value), "describing a matmul");
  }
  if (extras.bias != 0)
    check_blas(lt.MatmulDescSetAttribute(descriptor, kEpilogue, &kEpilogueBias, sizeof kEpilogueBias),
               "describing a bias");
  for (const auto& [attribute, address] : {std::pair(kBiasPointer, extras.bias),
                                           {kScalePointerA, extras.scales[0]},
                                           {kScalePointerB, extras.scales[1]}})
    if (address != 0)
      check_blas(lt.MatmulDescSetAttribute(descriptor, attribute, &address, sizeof address),
                 "describing a bias or a scale");
  const auto layout = [&](DType dtype, bool transposed, int64_t rows, int64_t columns, int64_t pitch,
                          int64_t stride) {
    if (transposed) std::swap(rows, columns);
    LtLayoutTag* made = nullptr;
    check_blas(lt.MatrixLayoutCreate(&made, data_type(dtype), static_cast<uint64_t>(rows),
                                     static_cast<uint64_t>(columns), pitch),
               "describing a matrix");
    LtLayout owner(made);
    set_batch(owner, stride);
    return owner;
  };
  const GemmProblem& p = problem_;
  a_ = layout(p.dtype, p.transpose_a, p.m, p.k, p.a_pitch, p.a_stride);
  b_ = layout(p.dtype, p.transpose_b, p.k, p.n, p.b_pitch, p.b_stride);
  c_ = layout(p.result_dtype, false, p.m, p.n, p.c_pitch, p.c_stride);
}

int PreparedGemm::compute_type() const {
  if (problem_.is_whole()) return kCompute32I;
  return problem_.tf32 ? kComputeTf32 : kCompute32F;
}

void PreparedGemm::set_batch(const LtLayout& layout, int64_t stride) const {
  const CublasLt& lt = cublas_lt();
  const auto batch = static_cast<int32_t>(problem_.batch);
  const uint32_t mode = problem_.by_pointers ? 1 : 0;
  check_blas(lt.MatrixLayoutSetAttribute(layout.get(), kBatchCount, &batch, sizeof batch),
             "describing a batch");
  if (problem_.by_pointers)
    check_blas(lt.MatrixLayoutSetAttribute(layout.get(), kBatchMode, &mode, sizeof mode),
               "describing a batch");
  else
    check_blas(lt.MatrixLayoutSetAttribute(layout.get(), kBatchStride, &stride, sizeof stride),
               "describing a batch");
}

int PreparedGemm::launch(const Call& call, const LtAlgorithm& algorithm, Stream stream,
                         DevicePointer workspace) const {
  const auto pointer = [](DevicePointer p) { return reinterpret_cast<void*>(p); };
  const auto whole_alpha = static_cast<int32_t>(alpha_), whole_beta = static_cast<int32_t>(call.beta);
  const bool is_whole = problem_.is_whole();
  const void *alpha = is_whole ? static_cast<const void*>(&whole_alpha) : &alpha_,
             *beta = is_whole ? static_cast<const void*>(&whole_beta) : &call.beta;
  return cublas_lt().Matmul(blas_, descriptor_.get(), alpha, pointer(call.a), a_.get(), pointer(call.b),
                            b_.get(), beta, pointer(call.c), c_.get(), pointer(call.c), c_.get(), &algorithm,
                            pointer(workspace), kGemmWorkspace, stream);
}

/// Returns the first status that is not 0.
int PreparedGemm::try_all(const LtAlgorithm& algorithm, Stream stream, DevicePointer workspace) const {
  if (algorithm == kOwnKernel) return own_.run(stream);
  for (const Call& call : calls_)
    if (const int code = launch(call, algorithm, stream, workspace); code != 0) return code;
  return 0;
}

void PreparedGemm::clear(Stream stream) const {
  for (const Zeros& zeros : zeros_)
    check(zeros.lines == 1
              ? driver().MemsetD8Async(zeros.to, 0, zeros.bytes, stream)
              : driver().MemsetD2D8Async(zeros.to, zeros.pitch, 0, zeros.bytes, zeros.lines, stream),
          "clearing an empty sum, or the end of lines");
}

void PreparedGemm::run(Stream stream, DevicePointer workspace) {
  clear(stream);
  if (const int code = try_all(algorithm_, stream, workspace); code != 0)
    algorithm_ == kOwnKernel ? check(code, "launching a matmul") : check_blas(code, "a matmul");
}

}  // namespace smelt::cuda
