// Types of all kernels that multiply by wgmma (sm_90a).
// Requires: nothing.


typedef unsigned short Half;
typedef unsigned long long Descriptor;
struct alignas(64) TensorMap { unsigned char bytes[128]; };
struct alignas(16) Piece { unsigned bits[4]; };
struct alignas(16) Four { float x, y, z, w; };

