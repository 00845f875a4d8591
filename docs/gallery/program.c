/* A program for the gallery: it computes, and touches memory. */
#include <stdlib.h>
#include <unistd.h>

static __attribute__((noinline)) unsigned parse(unsigned rounds)
{
    unsigned value = 7;
    while (rounds--)
        value = value * 69069 + rounds;
    return value;
}

static __attribute__((noinline)) unsigned fill(volatile unsigned char *memory, size_t size)
{
    unsigned sum = 0;
    for (size_t at = 0; at < size; at += 4096)
        sum += ++memory[at];
    return sum;
}

int main(void)
{
    size_t size = 6 << 20;
    unsigned char *memory = malloc(size);
    unsigned value = 0;
    if (!memory)
        return 1;
    for (int pass = 0; pass < 50; pass++)
        value ^= parse(ROUNDS) + fill(memory, size);
    return write(1, value ? "1" : "0", 1) != 1;
}
