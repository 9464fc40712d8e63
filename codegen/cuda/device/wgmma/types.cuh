// Types of all kernels that multiply by wgmma (sm_90a): matmuls with an epilogue, and attention.
// Requires: nothing.


typedef unsigned short Half;  // the bits of a 16-bit number
typedef unsigned long long Descriptor;  // describes a wgmma operand in shared memory
struct alignas(64) TensorMap { unsigned char bytes[128]; };  // CUtensorMap, which TMA reads
struct alignas(16) Piece { unsigned bits[4]; };  // eight Halfs, loaded or stored at once
struct alignas(16) Four { float x, y, z, w; };  // loaded or stored at once

