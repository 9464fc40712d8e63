// Types of all kernels that multiply by wgmma (sm_90a): matmuls with an epilogue, and attention.
// Requires: nothing.


typedef unsigned long long Descriptor;  // describes a wgmma operand in shared memory
struct alignas(64) TensorMap { unsigned char bytes[128]; };  // CUtensorMap, which TMA reads
