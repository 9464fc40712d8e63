// A type of 16 bits, and the function that stores two neighbouring sums as this type.
// Requires: SM. C++ replaces the word TYPE by bf16 or f16. Comes before kernel.cuh.

struct TYPE { unsigned short bits; };
SM void put_pair(TYPE* to, float x, float y) {
  asm("cvt.rn.TYPEx2.f32 %0, %1, %2;" : "=r"(*(unsigned*)to) : "f"(y), "f"(x));
}
