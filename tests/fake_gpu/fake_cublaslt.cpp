#include <bit>

#include "runtime/base/half.h"
#include "runtime/cuda/cublas_lt.h"
#include "tests/fake_gpu/fake_gpu.h"

namespace smelt::cuda {

struct LtHandleTag {
  int device = 0;
};
struct LtDescriptorTag {
  int32_t transpose_a = 0, transpose_b = 0;
  uint32_t epilogue = 0;
  const void* bias = nullptr;
  bool tf32 = false, whole = false;
};
struct LtLayoutTag {
  int type = 0;
  int64_t rows = 0, columns = 0, pitch = 0, stride = 0;
  int32_t batch = 1;
  uint32_t by_pointers = 0;
};
struct LtPreferenceTag {
  uint32_t reduction_schemes = 7;
};

}  // namespace smelt::cuda

namespace {

using namespace smelt::cuda;
using Code = CublasLt::Code;

constexpr Code kNotInitialized = 1, kInvalidValue = 7, kExecutionFailed = 13, kNotSupported = 15,
               kArchMismatch = 8;

/// The GPU of this thread's context.
smelt::fake::Gpu& gpu() { return smelt::fake::gpu(smelt::fake::current_device()); }

template <typename T>
void take(T& to, const void* value) {
  std::memcpy(static_cast<void*>(&to), value, sizeof to);
}

constexpr int kFloat = 0, kByte = 3, kWhole = 10, kBfloat16 = 14;

int64_t width_of(int type) { return type == kByte ? 1 : type == kFloat || type == kWhole ? 4 : 2; }

/// An element of one matrix of a batch, in columns.
char* element(const LtLayoutTag& layout, const void* base, int64_t batch, int64_t row, int64_t column) {
  const int64_t width = width_of(layout.type);
  const char* first = layout.by_pointers ? static_cast<const char* const*>(base)[batch]
                                         : static_cast<const char*>(base) + batch * layout.stride * width;
  return const_cast<char*>(first) + (column * layout.pitch + row) * width;
}

float load(int type, const char* at) {
  float value;
  uint16_t half;
  int32_t whole;
  if (type == kByte) return *reinterpret_cast<const int8_t*>(at);
  if (type == kWhole) return std::memcpy(&whole, at, sizeof whole), static_cast<float>(whole);
  if (type == kFloat) return std::memcpy(&value, at, sizeof value), value;
  std::memcpy(&half, at, sizeof half);
  return type == kBfloat16 ? smelt::from_bf16(half) : smelt::from_f16(half);
}

void store(int type, char* at, float value) {
  const uint16_t half = type == 14 ? smelt::to_bf16(value) : smelt::to_f16(value);
  type == 0 ? std::memcpy(at, &value, sizeof value) : std::memcpy(at, &half, sizeof half);
}

/// An operand's element as the multiplier reads it.
double factor(int type, const char* at, bool tf32) {
  const float value = load(type, at);
  return tf32 ? std::bit_cast<float>(std::bit_cast<uint32_t>(value) & ~uint32_t{0x1FFF}) : value;
}

/// Alpha and beta, which are i32 where sums are.
float factor_of(const LtDescriptorTag& d, const void* value) {
  float real = 0;
  int32_t whole = 0;
  if (!d.whole) return take(real, value), real;
  return take(whole, value), static_cast<float>(whole);
}

bool is_known(const LtAlgorithm& algorithm) {
  return algorithm.data[0] < gpu().milliseconds_by_algorithm.size();
}

}  // namespace

extern "C" {

size_t cublasLtGetVersion() { return smelt::fake::gpu().library_version; }
Code cublasLtCreate(LtHandleTag** handle) {
  const smelt::fake::Gpu& first = smelt::fake::gpu();
  const bool fits = first.library_version / 10000 <= static_cast<size_t>(first.driver_version) / 1000;
  return *handle = new LtHandleTag{smelt::fake::current_device()}, fits ? 0 : kNotInitialized;
}
Code cublasLtMatmulDescCreate(LtDescriptorTag** d, int compute_type, int) {
  *d = new LtDescriptorTag;
  return (*d)->tf32 = compute_type == kComputeTf32, (*d)->whole = compute_type == kCompute32I, 0;
}
Code cublasLtMatmulDescDestroy(LtDescriptorTag* d) { return delete d, 0; }
Code cublasLtMatmulDescSetAttribute(LtDescriptorTag* d, int attribute, const void* value, size_t) {
  if (attribute == kTransposeA) take(d->transpose_a, value);
  if (attribute == kTransposeB) take(d->transpose_b, value);
  if (attribute == kEpilogue) take(d->epilogue, value);
  if (attribute == kBiasPointer) take(d->bias, value);
  return 0;
}
Code cublasLtMatrixLayoutCreate(LtLayoutTag** layout, int type, uint64_t rows, uint64_t columns,
                                int64_t pitch) {
  *layout = new LtLayoutTag{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), pitch};
  return 0;
}
Code cublasLtMatrixLayoutDestroy(LtLayoutTag* layout) { return delete layout, 0; }
Code cublasLtMatrixLayoutSetAttribute(LtLayoutTag* layout, int attribute, const void* value, size_t) {
  if (attribute == kBatchCount) take(layout->batch, value);
  if (attribute == kBatchStride) take(layout->stride, value);
  if (attribute == kBatchMode) take(layout->by_pointers, value);
  return 0;
}
Code cublasLtMatmulPreferenceCreate(LtPreferenceTag** p) { return *p = new LtPreferenceTag, 0; }
Code cublasLtMatmulPreferenceDestroy(LtPreferenceTag* p) { return delete p, 0; }
Code cublasLtMatmulPreferenceSetAttribute(LtPreferenceTag* p, int attribute, const void* value, size_t) {
  if (attribute == kReductionSchemes) take(p->reduction_schemes, value);
  return 0;
}
/// As in the real library, none adds a bias to GEMMs by pointers.
Code cublasLtMatmulAlgoGetHeuristic(LtHandleTag*, LtDescriptorTag* d, LtLayoutTag*, LtLayoutTag*,
                                    LtLayoutTag* c, LtLayoutTag*, LtPreferenceTag* p, int wanted,
                                    LtHeuristic* results, int* found) {
  gpu().reduction_schemes = p->reduction_schemes;
  if (d->epilogue == kEpilogueBias && c->by_pointers != 0) return kNotSupported;
  *found = std::min(wanted, static_cast<int>(gpu().milliseconds_by_algorithm.size()));
  for (int i = 0; i < *found; ++i) results[i].algorithm.data[0] = static_cast<uint64_t>(i);
  return 0;
}
Code cublasLtMatmulAlgoCheck(LtHandleTag*, LtDescriptorTag*, LtLayoutTag*, LtLayoutTag*, LtLayoutTag*,
                             LtLayoutTag*, const LtAlgorithm* algorithm, LtHeuristic* result) {
  result->algorithm = *algorithm;
  return is_known(*algorithm) ? 0 : kInvalidValue;
}
/// Every algorithm adds the products up in double and is off by its number in units of the last place.
Code cublasLtMatmul(LtHandleTag* handle, LtDescriptorTag* d, const void* alpha, const void* a,
                    LtLayoutTag* as, const void* b, LtLayoutTag* bs, const void* beta, const void* c,
                    LtLayoutTag* cs, void*, LtLayoutTag*, const LtAlgorithm* algorithm, void*, size_t,
                    Stream stream) {
  if (!is_known(*algorithm)) return kInvalidValue;
  if (handle->device != smelt::fake::current_device()) return kArchMismatch;
  const float scale = factor_of(*d, alpha), kept = factor_of(*d, beta);
  ++gpu().gemms;
  const uint64_t index = algorithm->data[0];
  const Code code = smelt::fake::enqueue(stream, [=, d = *d, as = *as, bs = *bs, cs = *cs] {
    const int64_t inner = d.transpose_a ? as.rows : as.columns;
    for (int64_t batch = 0; batch < cs.batch; ++batch)
      for (int64_t j = 0; j < cs.columns; ++j)
        for (int64_t i = 0; i < cs.rows; ++i) {
          double sum = 0;
          for (int64_t k = 0; k < inner; ++k)
            sum += factor(as.type, d.transpose_a ? element(as, a, batch, k, i) : element(as, a, batch, i, k),
                          d.tf32) *
                   factor(bs.type, d.transpose_b ? element(bs, b, batch, j, k) : element(bs, b, batch, k, j),
                          d.tf32);
          if (d.epilogue == kEpilogueBias)
            sum += load(cs.type, static_cast<const char*>(d.bias) + i * (cs.type == 0 ? 4 : 2));
          char* at = element(cs, c, batch, i, j);
          if (cs.type == kWhole) {
            const auto whole = static_cast<int32_t>(scale * sum + (kept == 0 ? 0 : kept * load(cs.type, at)));
            std::memcpy(at, &whole, sizeof whole);
            continue;
          }
          const auto value = static_cast<float>(scale * sum) + (kept == 0 ? 0 : kept * load(cs.type, at));
          store(cs.type, at,
                std::bit_cast<float>(std::bit_cast<uint32_t>(value) + static_cast<uint32_t>(index)));
        }
    gpu().clock += gpu().milliseconds_by_algorithm[index];
  });
  return code == 0 ? 0 : kExecutionFailed;
}
}
