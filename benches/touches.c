/* What recording costs is measured on this: a walk along a chain through 16 KiB, which counts where
 * it comes by in 32 KiB more. About one instruction in three refers to data, and as in most
 * programs the machine waits for some of them.
 *
 * usage: touches PASSES
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLACES = 1 << 12 };

static uint32_t next[PLACES];
static uint64_t count[PLACES];

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s PASSES\n", argv[0]);
        return 2;
    }
    /* A full period: all places, in an order that no prefetcher knows. */
    for (uint32_t place = 0; place < PLACES; place++) next[place] = (place * 20077 + 12345) % PLACES;
    uint32_t place = 0;
    uint64_t sum = 0;
    for (long pass = atol(argv[1]); pass > 0; pass--) {
        for (long step = 0; step < PLACES; step++) {
            place = next[place];
            count[place] += sum >> 60;
            sum = sum * 5 + place;
        }
    }
    printf("%llx %llx\n", (unsigned long long)sum, (unsigned long long)count[1]);
    return 0;
}
