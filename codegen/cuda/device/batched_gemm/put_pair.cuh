// The type of a 16-bit result, and the function that rounds two sums to this type and stores them in adjacent
// elements.
// Requires: SM. C++ replaces the word TYPE by bf16 or f16. Comes before kernel.cuh.

struct TYPE { unsigned short bits; };
// Stores x, then y, as one word: `to` is aligned to 4 bytes.
SM void put_pair(TYPE* to, float x, float y) {
  asm("cvt.rn.TYPEx2.f32 %0, %1, %2;" : "=r"(*(unsigned*)to) : "f"(y), "f"(x));
}
