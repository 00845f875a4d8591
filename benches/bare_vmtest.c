/* The bare form of the job vmtest, against which its harness is measured: a parent touches a data
 * segment, forks children that step through it, and looks for ended ones between short sleeps.
 *
 * usage: bare_vmtest PROCESSES PROCESS_BYTES STEP LOOPS SWITCHES_PER_S
 * Prints the ns from before the first fork to the end of the last child.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: %s PROCESSES PROCESS_BYTES STEP LOOPS SWITCHES_PER_S\n", argv[0]);
        return 2;
    }
    long processes = atol(argv[1]), bytes = atol(argv[2]), step = atol(argv[3]);
    long loops = atol(argv[4]), switches = atol(argv[5]);
    volatile char *segment = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile int64_t *ended_ns = mmap(NULL, processes * sizeof *ended_ns, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (segment == MAP_FAILED || ended_ns == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    for (long place = 0; place < bytes; place += step) segment[place] = 0;

    int64_t begun_ns = now_ns();
    for (long child = 0; child < processes; child++) {
        pid_t pid = fork();
        if (pid < 0) {
            perror("fork");
            return 1;
        }
        if (pid > 0) continue;
        for (long loop = 0; loop < loops; loop++)
            for (long place = 0; place < bytes; place += step) (void)segment[place];
        ended_ns[child] = now_ns();
        _exit(0);
    }
    for (long left = processes; left > 0;) {
        usleep(2 * (1000000 / switches));
        while (left > 0 && waitpid(-1, NULL, WNOHANG) > 0) left--;
    }
    int64_t last_ns = 0;
    for (long child = 0; child < processes; child++)
        if (ended_ns[child] > last_ns) last_ns = ended_ns[child];
    printf("%lld\n", (long long)(last_ns - begun_ns));
    return 0;
}
