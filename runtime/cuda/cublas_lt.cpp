#include "runtime/cuda/cublas_lt.h"

#include "runtime/base/error.h"
#include "runtime/system/dynamic_library.h"

namespace smelt::cuda {
namespace {

constexpr const char* kLibraryNames[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};

CublasLt load_cublas_lt() {
  const DynamicLibrary library("cuBLASLt", kLibraryNames);
  CublasLt lt{};
  const auto get = [&](auto& function, const char* name) { library.load(function, name); };
  get(lt.Create, "cublasLtCreate"), get(lt.GetVersion, "cublasLtGetVersion");
  get(lt.MatmulDescCreate, "cublasLtMatmulDescCreate");
  get(lt.MatmulDescDestroy, "cublasLtMatmulDescDestroy");
  get(lt.MatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute");
  get(lt.MatrixLayoutCreate, "cublasLtMatrixLayoutCreate");
  get(lt.MatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy");
  get(lt.MatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute");
  get(lt.MatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
  get(lt.MatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  get(lt.MatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute");
  get(lt.MatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic");
  get(lt.MatmulAlgoCheck, "cublasLtMatmulAlgoCheck"), get(lt.Matmul, "cublasLtMatmul");
  lt.path = library.path();
  return lt;
}

}  // namespace

const CublasLt& cublas_lt() {
  static const CublasLt loaded = load_cublas_lt();
  return loaded;
}

CublasLtInfo cublas_lt_info() {
  const DynamicLibrary library("cuBLASLt", kLibraryNames);
  size_t (*version)() = nullptr;
  library.load(version, "cublasLtGetVersion");
  return {library.path(), version()};
}

void check_blas(CublasLt::Code code, const std::string& what) {
  if (code != 0) fail_with(Status::internal, "cuBLASLt: {} failed with status {}", what, code);
}

int data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 0;
    case DType::f16:
      return 2;
    case DType::bf16:
      return 14;
    case DType::f8e4m3:
      return 28;
    case DType::i8:
      return 3;
    case DType::i32:
      return 10;
    default:
      fail_with(Status::internal, "a GEMM of {} matrices: expected f32, f16, bf16, f8e4m3 or i8",
                name(dtype));
  }
}

}  // namespace smelt::cuda
