// A libcuda.so.1 of long ago: it has hardly any of the functions that are needed.
extern "C" {
int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 10010, 0; }
}
