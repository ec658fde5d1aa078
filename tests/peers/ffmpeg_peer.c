// ffmpeg_peer - FFmpeg's blur filters for peers.py: avgblur on the processor, avgblur_opencl and boxblur_opencl on the OpenCL device that
// is a processor. Requests are lines on stdin, as examples/peer.rs describes them; answers go to stdout.
//
// A run is one frame through a filter graph that was made before: wall time from the frame's entry to its exit. The OpenCL filters wait
// for the device themselves. Their frames are in the device's memory already and stay there, as clreel's are; the name with "+copies"
// also uploads the frame and downloads the result, as hwupload and hwdownload do. avgblur takes planar frames, so RGBA is split before
// and merged after the run, which is not timed.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>

enum { MAX_FRAMES = 8 };

static const char *const NAMES[] = {"avgblur", "avgblur_opencl", "avgblur_opencl+copies", "boxblur_opencl"};

static struct {
    int width, height, frames;
    unsigned char *rgba;
    AVFrame *planar[MAX_FRAMES], *packed[MAX_FRAMES], *resident[MAX_FRAMES];
    AVBufferRef *device, *hw_frames;
    AVFilterGraph *graph;
    AVFilterContext *source, *sink;
    char name[64];
    int radius;
} peer;

// Prints the reason of a failure as the answer; returns its argument.
static int fail(const char *what, int error) {
    char why[AV_ERROR_MAX_STRING_SIZE] = "";
    if (error < 0) av_strerror(error, why, sizeof why);
    printf("no %s %s\n", what, why);
    return error < 0 ? error : -1;
}

static int is_opencl(const char *name) { return strstr(name, "_opencl") != NULL; }

static int has_copies(const char *name) { return strchr(name, '+') != NULL; }

static AVFrame *new_frame(enum AVPixelFormat format) {
    AVFrame *frame = av_frame_alloc();
    if (!frame) return NULL;
    frame->format = format;
    frame->width = peer.width;
    frame->height = peer.height;
    if (av_frame_get_buffer(frame, 64) < 0) av_frame_free(&frame);
    return frame;
}

// The channels of RGBA are the planes 2, 0, 1 and 3 of GBRAP.
static const int PLANES[] = {2, 0, 1, 3};

static int open_frames(const char *path, int width, int height) {
    peer.width = width;
    peer.height = height;
    size_t bytes = (size_t)width * height * 4;
    FILE *file = fopen(path, "rb");
    if (!file) return fail("the frames cannot be read", 0);
    free(peer.rgba);
    peer.rgba = malloc(bytes);
    for (int n = 0; n < MAX_FRAMES; n++) {
        av_frame_free(&peer.planar[n]);
        av_frame_free(&peer.packed[n]);
        av_frame_free(&peer.resident[n]);
    }
    avfilter_graph_free(&peer.graph);
    av_buffer_unref(&peer.hw_frames);
    int error = 0;
    if (!peer.device) {
        AVDictionary *options = NULL;
        av_dict_set(&options, "device_type", "cpu", 0);
        error = av_hwdevice_ctx_create(&peer.device, AV_HWDEVICE_TYPE_OPENCL, NULL, options, 0);
        av_dict_free(&options);
    }
    if (!error && (peer.hw_frames = av_hwframe_ctx_alloc(peer.device))) {
        AVHWFramesContext *context = (AVHWFramesContext *)peer.hw_frames->data;
        context->format = AV_PIX_FMT_OPENCL;
        context->sw_format = AV_PIX_FMT_RGBA;
        context->width = width;
        context->height = height;
        error = av_hwframe_ctx_init(peer.hw_frames);
    }
    for (peer.frames = 0; peer.frames < MAX_FRAMES && fread(peer.rgba, 1, bytes, file) == bytes; peer.frames++) {
        AVFrame *planar = new_frame(AV_PIX_FMT_GBRAP), *packed = new_frame(AV_PIX_FMT_RGBA);
        if (!planar || !packed) break;
        for (int y = 0; y < height; y++) {
            const unsigned char *row = peer.rgba + (size_t)y * width * 4;
            memcpy(packed->data[0] + (size_t)y * packed->linesize[0], row, (size_t)width * 4);
            for (int c = 0; c < 4; c++)
                for (int x = 0; x < width; x++)
                    planar->data[PLANES[c]][(size_t)y * planar->linesize[PLANES[c]] + x] = row[4 * x + c];
        }
        peer.planar[peer.frames] = planar;
        peer.packed[peer.frames] = packed;
        if (error < 0) continue;
        AVFrame *resident = av_frame_alloc();
        error = av_hwframe_get_buffer(peer.hw_frames, resident, 0);
        if (error >= 0) error = av_hwframe_transfer_data(resident, packed, 0);
        peer.resident[peer.frames] = resident;
    }
    fclose(file);
    if (!peer.frames) return fail("there are no frames", 0);
    printf("ok");
    for (size_t n = 0; n < sizeof NAMES / sizeof *NAMES; n++)
        if (error >= 0 || !is_opencl(NAMES[n])) printf(" %s", NAMES[n]);
    printf("\n");
    return 0;
}

// Makes the graph of a filter, unless it is the one that is there.
static int make_graph(const char *name, int radius) {
    if (peer.graph && !strcmp(peer.name, name) && peer.radius == radius) return 0;
    avfilter_graph_free(&peer.graph);
    snprintf(peer.name, sizeof peer.name, "%s", name);
    peer.radius = radius;
    char filter[32], arguments[128];
    snprintf(filter, sizeof filter, "%s", name);
    filter[strcspn(filter, "+")] = 0;
    const char *form = strstr(name, "boxblur") ? "luma_radius=%d:luma_power=1" : "sizeX=%d:sizeY=%d";
    snprintf(arguments, sizeof arguments, form, radius, radius);
    int hw = is_opencl(name), error;
    peer.graph = avfilter_graph_alloc();
    AVFilterContext *blur = NULL;
    peer.source = avfilter_graph_alloc_filter(peer.graph, avfilter_get_by_name("buffer"), "in");
    AVBufferSrcParameters *parameters = av_buffersrc_parameters_alloc();
    parameters->format = hw ? AV_PIX_FMT_OPENCL : AV_PIX_FMT_GBRAP;
    parameters->width = peer.width;
    parameters->height = peer.height;
    parameters->time_base = (AVRational){1, 25};
    if (hw) parameters->hw_frames_ctx = peer.hw_frames;
    error = av_buffersrc_parameters_set(peer.source, parameters);
    av_free(parameters);
    if (error >= 0) error = avfilter_init_dict(peer.source, NULL);
    if (error >= 0)
        error = avfilter_graph_create_filter(&blur, avfilter_get_by_name(filter), "blur", arguments, NULL, peer.graph);
    if (error >= 0)
        error = avfilter_graph_create_filter(&peer.sink, avfilter_get_by_name("buffersink"), "out", NULL, NULL, peer.graph);
    if (error >= 0) error = avfilter_link(peer.source, 0, blur, 0);
    if (error >= 0) error = avfilter_link(blur, 0, peer.sink, 0);
    if (error >= 0) error = avfilter_graph_config(peer.graph, NULL);
    if (error < 0) avfilter_graph_free(&peer.graph);
    return error;
}

static long long now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// Filters a frame into `out`, which is in the device's memory after an OpenCL filter without copies; stores the wall time.
static int run(const char *name, int radius, int frame, AVFrame *out, long long *ns) {
    int error = make_graph(name, radius);
    if (error < 0) return error;
    static int64_t pts;
    int hw = is_opencl(name), copies = has_copies(name);
    AVFrame *in = av_frame_clone(copies ? peer.packed[frame] : hw ? peer.resident[frame] : peer.planar[frame]);
    AVFrame *filtered = av_frame_alloc();
    long long began = now_ns();
    if (copies) {
        AVFrame *uploaded = av_frame_alloc();
        error = av_hwframe_get_buffer(peer.hw_frames, uploaded, 0);
        if (error >= 0) error = av_hwframe_transfer_data(uploaded, in, 0);
        av_frame_free(&in);
        in = uploaded;
    }
    in->pts = pts++;
    if (error >= 0) error = av_buffersrc_add_frame_flags(peer.source, in, AV_BUFFERSRC_FLAG_PUSH);
    if (error >= 0) error = av_buffersink_get_frame(peer.sink, filtered);
    if (error >= 0 && copies) {
        out->format = AV_PIX_FMT_RGBA;
        error = av_hwframe_transfer_data(out, filtered, 0);
    }
    *ns = now_ns() - began;
    if (error >= 0 && !copies) av_frame_move_ref(out, filtered);
    av_frame_free(&filtered);
    av_frame_free(&in);
    return error;
}

// Writes a filtered frame as RGBA.
static int write_result(const char *name, int radius, int frame, const char *path) {
    AVFrame *out = av_frame_alloc(), *packed = av_frame_alloc();
    long long ns;
    int error = run(name, radius, frame, out, &ns);
    if (error >= 0 && out->format == AV_PIX_FMT_OPENCL) {
        packed->format = AV_PIX_FMT_RGBA;
        error = av_hwframe_transfer_data(packed, out, 0);
    } else if (error >= 0) {
        av_frame_move_ref(packed, out);
    }
    FILE *file = error >= 0 ? fopen(path, "wb") : NULL;
    for (int y = 0; file && y < peer.height; y++) {
        if (packed->format == AV_PIX_FMT_RGBA) {
            fwrite(packed->data[0] + (size_t)y * packed->linesize[0], 4, peer.width, file);
            continue;
        }
        for (int c = 0; c < 4; c++)
            for (int x = 0; x < peer.width; x++)
                peer.rgba[4 * x + c] = packed->data[PLANES[c]][(size_t)y * packed->linesize[PLANES[c]] + x];
        fwrite(peer.rgba, 4, peer.width, file);
    }
    if (file) fclose(file);
    av_frame_free(&out);
    av_frame_free(&packed);
    return error < 0 ? error : file ? 0 : AVERROR(EIO);
}

int main(void) {
    char line[4096], name[64], path[4000];
    int a, b, c;
    av_log_set_level(AV_LOG_QUIET);
    while (fgets(line, sizeof line, stdin)) {
        int error = 0;
        long long ns = 0;
        if (sscanf(line, "open %3999s %d %d", path, &a, &b) == 3) {
            open_frames(path, a, b);
        } else if (sscanf(line, "prepare %63s %d", name, &a) == 2) {
            for (int n = 0; n < 2 && error >= 0; n++) {
                AVFrame *out = av_frame_alloc();
                error = run(name, a, 0, out, &ns);
                av_frame_free(&out);
            }
            if (error < 0) fail("the filter failed:", error);
            else printf("ok %.6f\n", ns / 1e6);
        } else if (sscanf(line, "write %63s %d %d %3999s", name, &a, &b, path) == 4) {
            error = write_result(name, a, b, path);
            if (error < 0) fail("the filter failed:", error);
            else printf("ok\n");
        } else if (sscanf(line, "run %63s %d %d %d", name, &a, &b, &c) == 4) {
            for (int n = 0; n <= c && error >= 0; n++) {
                AVFrame *out = av_frame_alloc();
                error = run(name, a, b, out, &ns);
                av_frame_free(&out);
            }
            if (error < 0) fail("the filter failed:", error);
            else printf("ok %lld %lld\n", ns, ns);
        } else {
            printf("no this request is not known\n");
        }
        fflush(stdout);
    }
    return 0;
}
