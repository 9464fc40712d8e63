// All PTX instructions of the attention kernels for sm_80 and later. Tests on a host replace this file.
// Requires: the macros SM, MMA_TYPE (element type in PTX, a string), ROW_GRADIENTS, COLUMN_GRADIENTS,
// GRADIENT_PARAMETERS and GRADIENT_VALUES, the type Half, the constants of attention_mma_text
// (codegen/cuda/attention/attention_mma.cpp), and the functions of the body (attention_hooks.h).
// GRADIENT_PARAMETERS are kernel parameters, ", float* gradient0, float* gradient1, ...", and GRADIENT_VALUES
// their names: ROW_GRADIENTS of them in the kernel of dQ, COLUMN_GRADIENTS in that of dK and dV, else none.
// Order of the text: instructions, tiles, elements; then table_rows in the forward kernel, and gradients in
// the other kernels; then forward, key_gradients, query_gradients or element_gradient.


SM float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
SM float log2_of(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Returns two numbers rounded to Half, `low` in the lower 16 bits.
SM unsigned pack(float low, float high) {
  unsigned bits;
  asm("cvt.rn." MMA_TYPE "x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
// Returns the number in the lower 16 bits of a result of pack.
SM float low_of(unsigned bits) {
  if (MMA_TYPE[0] == 'b') return __uint_as_float(bits << 16);
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)bits));
  return x;
}
// Returns x, but hides from the compiler that the result is x. So the compiler computes addresses from it
// anew at each call, and does not keep them in registers between calls.
SM int fresh(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

SM unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Start a copy of kVector elements, or of one float, from device to shared memory. If is_there is false,
// zeros are written and nothing is read. cp.async cannot copy a single element of 2 bytes.
SM void copy_piece(unsigned to, const Half* from, bool is_there) {
  if constexpr (kVector == 8) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(is_there ? 16 : 0));
  } else if constexpr (kVector == 1) {
    const Half value = is_there ? *from : (Half)0;
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(value));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(2 * kVector),
                 "r"(is_there ? 2 * kVector : 0));
  }
}
SM void copy_number(unsigned to, const float* from, bool is_there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(is_there ? 4 : 0));
}
// commit_copies ends a group of the copies that this thread has started. wait_for_copies waits until all of
// its groups are complete. A barrier must follow before other threads read what was copied.
SM void commit_copies() { asm volatile("cp.async.commit_group;"); }
SM void wait_for_copies() { asm volatile("cp.async.wait_group 0;"); }

// Load four 8 x 8 matrices of Half. Lane 8 i + r passes the address of row r (16 bytes) of matrix i. In
// to[i], a lane gets two elements of matrix i, or of its transpose: row lane / 4, columns 2 (lane % 4) and
// the next.
SM void load_fragment(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}
SM void load_transposed(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}
// Transposes an 8 x 8 matrix of Half whose elements the lanes hold as above.
SM void transpose(unsigned& word) {
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(word));
}
// d += a b, for fragments of d[16, 8] (f32), a[16, 16] and b[16, 8]. b0: rows 0 to 7 of b; b1: the others.
SM void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE
               ".f32 {%0,%1,%2,%3}, "
               "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

SM void store_word(unsigned to, unsigned word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(word));
}
// Copies kVector elements from shared to device memory.
SM void store_piece(Half* to, unsigned from) {
  unsigned w[4];
  if constexpr (kVector == 8) {
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(from));
    asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]),
                 "r"(w[3]));
  } else if constexpr (kVector == 4) {
    asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(from));
    asm volatile("st.global.v2.u32 [%0], {%1,%2};" ::"l"(to), "r"(w[0]), "r"(w[1]));
  } else if constexpr (kVector == 2) {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w[0]) : "r"(from));
    asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(w[0]));
  } else {
    unsigned short h;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(h) : "r"(from));
    *to = h;
  }
}
