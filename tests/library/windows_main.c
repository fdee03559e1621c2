/* Where a program of Windows begins, with windows_crt.c in place of MSVC's C runtime. */

#include <stdlib.h>

int main(void);

void mainCRTStartup(void) { exit(main()); }
