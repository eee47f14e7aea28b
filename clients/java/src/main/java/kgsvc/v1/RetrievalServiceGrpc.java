package kgsvc.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Answers from the graph, deterministically. Searches see facts that are valid now and not expired.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class RetrievalServiceGrpc {

  private RetrievalServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "kgsvc.v1.RetrievalService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.SearchFactsRequest,
      kgsvc.v1.SearchFactsResponse> getSearchFactsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SearchFacts",
      requestType = kgsvc.v1.SearchFactsRequest.class,
      responseType = kgsvc.v1.SearchFactsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.SearchFactsRequest,
      kgsvc.v1.SearchFactsResponse> getSearchFactsMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.SearchFactsRequest, kgsvc.v1.SearchFactsResponse> getSearchFactsMethod;
    if ((getSearchFactsMethod = RetrievalServiceGrpc.getSearchFactsMethod) == null) {
      synchronized (RetrievalServiceGrpc.class) {
        if ((getSearchFactsMethod = RetrievalServiceGrpc.getSearchFactsMethod) == null) {
          RetrievalServiceGrpc.getSearchFactsMethod = getSearchFactsMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.SearchFactsRequest, kgsvc.v1.SearchFactsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SearchFacts"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.SearchFactsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.SearchFactsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RetrievalServiceMethodDescriptorSupplier("SearchFacts"))
              .build();
        }
      }
    }
    return getSearchFactsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.GetEntityEdgeRequest,
      kgsvc.v1.GetEntityEdgeResponse> getGetEntityEdgeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetEntityEdge",
      requestType = kgsvc.v1.GetEntityEdgeRequest.class,
      responseType = kgsvc.v1.GetEntityEdgeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.GetEntityEdgeRequest,
      kgsvc.v1.GetEntityEdgeResponse> getGetEntityEdgeMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.GetEntityEdgeRequest, kgsvc.v1.GetEntityEdgeResponse> getGetEntityEdgeMethod;
    if ((getGetEntityEdgeMethod = RetrievalServiceGrpc.getGetEntityEdgeMethod) == null) {
      synchronized (RetrievalServiceGrpc.class) {
        if ((getGetEntityEdgeMethod = RetrievalServiceGrpc.getGetEntityEdgeMethod) == null) {
          RetrievalServiceGrpc.getGetEntityEdgeMethod = getGetEntityEdgeMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.GetEntityEdgeRequest, kgsvc.v1.GetEntityEdgeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetEntityEdge"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetEntityEdgeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetEntityEdgeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RetrievalServiceMethodDescriptorSupplier("GetEntityEdge"))
              .build();
        }
      }
    }
    return getGetEntityEdgeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.GetEpisodesRequest,
      kgsvc.v1.GetEpisodesResponse> getGetEpisodesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetEpisodes",
      requestType = kgsvc.v1.GetEpisodesRequest.class,
      responseType = kgsvc.v1.GetEpisodesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.GetEpisodesRequest,
      kgsvc.v1.GetEpisodesResponse> getGetEpisodesMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.GetEpisodesRequest, kgsvc.v1.GetEpisodesResponse> getGetEpisodesMethod;
    if ((getGetEpisodesMethod = RetrievalServiceGrpc.getGetEpisodesMethod) == null) {
      synchronized (RetrievalServiceGrpc.class) {
        if ((getGetEpisodesMethod = RetrievalServiceGrpc.getGetEpisodesMethod) == null) {
          RetrievalServiceGrpc.getGetEpisodesMethod = getGetEpisodesMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.GetEpisodesRequest, kgsvc.v1.GetEpisodesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetEpisodes"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetEpisodesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetEpisodesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RetrievalServiceMethodDescriptorSupplier("GetEpisodes"))
              .build();
        }
      }
    }
    return getGetEpisodesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.GetMemoryRequest,
      kgsvc.v1.GetMemoryResponse> getGetMemoryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetMemory",
      requestType = kgsvc.v1.GetMemoryRequest.class,
      responseType = kgsvc.v1.GetMemoryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.GetMemoryRequest,
      kgsvc.v1.GetMemoryResponse> getGetMemoryMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.GetMemoryRequest, kgsvc.v1.GetMemoryResponse> getGetMemoryMethod;
    if ((getGetMemoryMethod = RetrievalServiceGrpc.getGetMemoryMethod) == null) {
      synchronized (RetrievalServiceGrpc.class) {
        if ((getGetMemoryMethod = RetrievalServiceGrpc.getGetMemoryMethod) == null) {
          RetrievalServiceGrpc.getGetMemoryMethod = getGetMemoryMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.GetMemoryRequest, kgsvc.v1.GetMemoryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetMemory"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetMemoryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetMemoryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RetrievalServiceMethodDescriptorSupplier("GetMemory"))
              .build();
        }
      }
    }
    return getGetMemoryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.GetEntityNodeRequest,
      kgsvc.v1.GetEntityNodeResponse> getGetEntityNodeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetEntityNode",
      requestType = kgsvc.v1.GetEntityNodeRequest.class,
      responseType = kgsvc.v1.GetEntityNodeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.GetEntityNodeRequest,
      kgsvc.v1.GetEntityNodeResponse> getGetEntityNodeMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.GetEntityNodeRequest, kgsvc.v1.GetEntityNodeResponse> getGetEntityNodeMethod;
    if ((getGetEntityNodeMethod = RetrievalServiceGrpc.getGetEntityNodeMethod) == null) {
      synchronized (RetrievalServiceGrpc.class) {
        if ((getGetEntityNodeMethod = RetrievalServiceGrpc.getGetEntityNodeMethod) == null) {
          RetrievalServiceGrpc.getGetEntityNodeMethod = getGetEntityNodeMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.GetEntityNodeRequest, kgsvc.v1.GetEntityNodeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetEntityNode"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetEntityNodeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetEntityNodeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RetrievalServiceMethodDescriptorSupplier("GetEntityNode"))
              .build();
        }
      }
    }
    return getGetEntityNodeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.GetFactHistoryRequest,
      kgsvc.v1.GetFactHistoryResponse> getGetFactHistoryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetFactHistory",
      requestType = kgsvc.v1.GetFactHistoryRequest.class,
      responseType = kgsvc.v1.GetFactHistoryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.GetFactHistoryRequest,
      kgsvc.v1.GetFactHistoryResponse> getGetFactHistoryMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.GetFactHistoryRequest, kgsvc.v1.GetFactHistoryResponse> getGetFactHistoryMethod;
    if ((getGetFactHistoryMethod = RetrievalServiceGrpc.getGetFactHistoryMethod) == null) {
      synchronized (RetrievalServiceGrpc.class) {
        if ((getGetFactHistoryMethod = RetrievalServiceGrpc.getGetFactHistoryMethod) == null) {
          RetrievalServiceGrpc.getGetFactHistoryMethod = getGetFactHistoryMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.GetFactHistoryRequest, kgsvc.v1.GetFactHistoryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetFactHistory"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetFactHistoryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetFactHistoryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RetrievalServiceMethodDescriptorSupplier("GetFactHistory"))
              .build();
        }
      }
    }
    return getGetFactHistoryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.SearchGraphRequest,
      kgsvc.v1.SearchGraphResponse> getSearchGraphMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SearchGraph",
      requestType = kgsvc.v1.SearchGraphRequest.class,
      responseType = kgsvc.v1.SearchGraphResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.SearchGraphRequest,
      kgsvc.v1.SearchGraphResponse> getSearchGraphMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.SearchGraphRequest, kgsvc.v1.SearchGraphResponse> getSearchGraphMethod;
    if ((getSearchGraphMethod = RetrievalServiceGrpc.getSearchGraphMethod) == null) {
      synchronized (RetrievalServiceGrpc.class) {
        if ((getSearchGraphMethod = RetrievalServiceGrpc.getSearchGraphMethod) == null) {
          RetrievalServiceGrpc.getSearchGraphMethod = getSearchGraphMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.SearchGraphRequest, kgsvc.v1.SearchGraphResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SearchGraph"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.SearchGraphRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.SearchGraphResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RetrievalServiceMethodDescriptorSupplier("SearchGraph"))
              .build();
        }
      }
    }
    return getSearchGraphMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static RetrievalServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RetrievalServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RetrievalServiceStub>() {
        @java.lang.Override
        public RetrievalServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RetrievalServiceStub(channel, callOptions);
        }
      };
    return RetrievalServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static RetrievalServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RetrievalServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RetrievalServiceBlockingV2Stub>() {
        @java.lang.Override
        public RetrievalServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RetrievalServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return RetrievalServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static RetrievalServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RetrievalServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RetrievalServiceBlockingStub>() {
        @java.lang.Override
        public RetrievalServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RetrievalServiceBlockingStub(channel, callOptions);
        }
      };
    return RetrievalServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static RetrievalServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RetrievalServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RetrievalServiceFutureStub>() {
        @java.lang.Override
        public RetrievalServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RetrievalServiceFutureStub(channel, callOptions);
        }
      };
    return RetrievalServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Answers from the graph, deterministically. Searches see facts that are valid now and not expired.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Finds facts by words and by meaning, best first, ties by uuid. Status OK.
     * </pre>
     */
    default void searchFacts(kgsvc.v1.SearchFactsRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.SearchFactsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSearchFactsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads one fact, expired ones too. Status OK or NOT_FOUND.
     * </pre>
     */
    default void getEntityEdge(kgsvc.v1.GetEntityEdgeRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetEntityEdgeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetEntityEdgeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads the latest episodes of a group in chronological order. Status OK.
     * </pre>
     */
    default void getEpisodes(kgsvc.v1.GetEpisodesRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetEpisodesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetEpisodesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Composes a query from messages, then answers as SearchFacts would. Status OK.
     * </pre>
     */
    default void getMemory(kgsvc.v1.GetMemoryRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetMemoryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetMemoryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads one entity with its facts, its episodes and what each of them did to it. Status OK or NOT_FOUND.
     * </pre>
     */
    default void getEntityNode(kgsvc.v1.GetEntityNodeRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetEntityNodeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetEntityNodeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads what a fact said over time: what it replaced, superseded, and was replaced or superseded by.
     * Status OK or NOT_FOUND.
     * </pre>
     */
    default void getFactHistory(kgsvc.v1.GetFactHistoryRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetFactHistoryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetFactHistoryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Searches with methods, rerankers, filters and looks into the past of the caller's choice. Status OK, or
     * NOT_FOUND for an unknown center or origin.
     * </pre>
     */
    default void searchGraph(kgsvc.v1.SearchGraphRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.SearchGraphResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSearchGraphMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service RetrievalService.
   * <pre>
   * Answers from the graph, deterministically. Searches see facts that are valid now and not expired.
   * </pre>
   */
  public static abstract class RetrievalServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return RetrievalServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service RetrievalService.
   * <pre>
   * Answers from the graph, deterministically. Searches see facts that are valid now and not expired.
   * </pre>
   */
  public static final class RetrievalServiceStub
      extends io.grpc.stub.AbstractAsyncStub<RetrievalServiceStub> {
    private RetrievalServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RetrievalServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RetrievalServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Finds facts by words and by meaning, best first, ties by uuid. Status OK.
     * </pre>
     */
    public void searchFacts(kgsvc.v1.SearchFactsRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.SearchFactsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSearchFactsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads one fact, expired ones too. Status OK or NOT_FOUND.
     * </pre>
     */
    public void getEntityEdge(kgsvc.v1.GetEntityEdgeRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetEntityEdgeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetEntityEdgeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads the latest episodes of a group in chronological order. Status OK.
     * </pre>
     */
    public void getEpisodes(kgsvc.v1.GetEpisodesRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetEpisodesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetEpisodesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Composes a query from messages, then answers as SearchFacts would. Status OK.
     * </pre>
     */
    public void getMemory(kgsvc.v1.GetMemoryRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetMemoryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetMemoryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads one entity with its facts, its episodes and what each of them did to it. Status OK or NOT_FOUND.
     * </pre>
     */
    public void getEntityNode(kgsvc.v1.GetEntityNodeRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetEntityNodeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetEntityNodeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads what a fact said over time: what it replaced, superseded, and was replaced or superseded by.
     * Status OK or NOT_FOUND.
     * </pre>
     */
    public void getFactHistory(kgsvc.v1.GetFactHistoryRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetFactHistoryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetFactHistoryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Searches with methods, rerankers, filters and looks into the past of the caller's choice. Status OK, or
     * NOT_FOUND for an unknown center or origin.
     * </pre>
     */
    public void searchGraph(kgsvc.v1.SearchGraphRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.SearchGraphResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSearchGraphMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service RetrievalService.
   * <pre>
   * Answers from the graph, deterministically. Searches see facts that are valid now and not expired.
   * </pre>
   */
  public static final class RetrievalServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<RetrievalServiceBlockingV2Stub> {
    private RetrievalServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RetrievalServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RetrievalServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Finds facts by words and by meaning, best first, ties by uuid. Status OK.
     * </pre>
     */
    public kgsvc.v1.SearchFactsResponse searchFacts(kgsvc.v1.SearchFactsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSearchFactsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one fact, expired ones too. Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.GetEntityEdgeResponse getEntityEdge(kgsvc.v1.GetEntityEdgeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetEntityEdgeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the latest episodes of a group in chronological order. Status OK.
     * </pre>
     */
    public kgsvc.v1.GetEpisodesResponse getEpisodes(kgsvc.v1.GetEpisodesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetEpisodesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Composes a query from messages, then answers as SearchFacts would. Status OK.
     * </pre>
     */
    public kgsvc.v1.GetMemoryResponse getMemory(kgsvc.v1.GetMemoryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetMemoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one entity with its facts, its episodes and what each of them did to it. Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.GetEntityNodeResponse getEntityNode(kgsvc.v1.GetEntityNodeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetEntityNodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads what a fact said over time: what it replaced, superseded, and was replaced or superseded by.
     * Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.GetFactHistoryResponse getFactHistory(kgsvc.v1.GetFactHistoryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetFactHistoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Searches with methods, rerankers, filters and looks into the past of the caller's choice. Status OK, or
     * NOT_FOUND for an unknown center or origin.
     * </pre>
     */
    public kgsvc.v1.SearchGraphResponse searchGraph(kgsvc.v1.SearchGraphRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSearchGraphMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service RetrievalService.
   * <pre>
   * Answers from the graph, deterministically. Searches see facts that are valid now and not expired.
   * </pre>
   */
  public static final class RetrievalServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<RetrievalServiceBlockingStub> {
    private RetrievalServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RetrievalServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RetrievalServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Finds facts by words and by meaning, best first, ties by uuid. Status OK.
     * </pre>
     */
    public kgsvc.v1.SearchFactsResponse searchFacts(kgsvc.v1.SearchFactsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSearchFactsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one fact, expired ones too. Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.GetEntityEdgeResponse getEntityEdge(kgsvc.v1.GetEntityEdgeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetEntityEdgeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the latest episodes of a group in chronological order. Status OK.
     * </pre>
     */
    public kgsvc.v1.GetEpisodesResponse getEpisodes(kgsvc.v1.GetEpisodesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetEpisodesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Composes a query from messages, then answers as SearchFacts would. Status OK.
     * </pre>
     */
    public kgsvc.v1.GetMemoryResponse getMemory(kgsvc.v1.GetMemoryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetMemoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one entity with its facts, its episodes and what each of them did to it. Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.GetEntityNodeResponse getEntityNode(kgsvc.v1.GetEntityNodeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetEntityNodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads what a fact said over time: what it replaced, superseded, and was replaced or superseded by.
     * Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.GetFactHistoryResponse getFactHistory(kgsvc.v1.GetFactHistoryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetFactHistoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Searches with methods, rerankers, filters and looks into the past of the caller's choice. Status OK, or
     * NOT_FOUND for an unknown center or origin.
     * </pre>
     */
    public kgsvc.v1.SearchGraphResponse searchGraph(kgsvc.v1.SearchGraphRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSearchGraphMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service RetrievalService.
   * <pre>
   * Answers from the graph, deterministically. Searches see facts that are valid now and not expired.
   * </pre>
   */
  public static final class RetrievalServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<RetrievalServiceFutureStub> {
    private RetrievalServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RetrievalServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RetrievalServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Finds facts by words and by meaning, best first, ties by uuid. Status OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.SearchFactsResponse> searchFacts(
        kgsvc.v1.SearchFactsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSearchFactsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads one fact, expired ones too. Status OK or NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.GetEntityEdgeResponse> getEntityEdge(
        kgsvc.v1.GetEntityEdgeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetEntityEdgeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads the latest episodes of a group in chronological order. Status OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.GetEpisodesResponse> getEpisodes(
        kgsvc.v1.GetEpisodesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetEpisodesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Composes a query from messages, then answers as SearchFacts would. Status OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.GetMemoryResponse> getMemory(
        kgsvc.v1.GetMemoryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetMemoryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads one entity with its facts, its episodes and what each of them did to it. Status OK or NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.GetEntityNodeResponse> getEntityNode(
        kgsvc.v1.GetEntityNodeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetEntityNodeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads what a fact said over time: what it replaced, superseded, and was replaced or superseded by.
     * Status OK or NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.GetFactHistoryResponse> getFactHistory(
        kgsvc.v1.GetFactHistoryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetFactHistoryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Searches with methods, rerankers, filters and looks into the past of the caller's choice. Status OK, or
     * NOT_FOUND for an unknown center or origin.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.SearchGraphResponse> searchGraph(
        kgsvc.v1.SearchGraphRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSearchGraphMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_SEARCH_FACTS = 0;
  private static final int METHODID_GET_ENTITY_EDGE = 1;
  private static final int METHODID_GET_EPISODES = 2;
  private static final int METHODID_GET_MEMORY = 3;
  private static final int METHODID_GET_ENTITY_NODE = 4;
  private static final int METHODID_GET_FACT_HISTORY = 5;
  private static final int METHODID_SEARCH_GRAPH = 6;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_SEARCH_FACTS:
          serviceImpl.searchFacts((kgsvc.v1.SearchFactsRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.SearchFactsResponse>) responseObserver);
          break;
        case METHODID_GET_ENTITY_EDGE:
          serviceImpl.getEntityEdge((kgsvc.v1.GetEntityEdgeRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.GetEntityEdgeResponse>) responseObserver);
          break;
        case METHODID_GET_EPISODES:
          serviceImpl.getEpisodes((kgsvc.v1.GetEpisodesRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.GetEpisodesResponse>) responseObserver);
          break;
        case METHODID_GET_MEMORY:
          serviceImpl.getMemory((kgsvc.v1.GetMemoryRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.GetMemoryResponse>) responseObserver);
          break;
        case METHODID_GET_ENTITY_NODE:
          serviceImpl.getEntityNode((kgsvc.v1.GetEntityNodeRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.GetEntityNodeResponse>) responseObserver);
          break;
        case METHODID_GET_FACT_HISTORY:
          serviceImpl.getFactHistory((kgsvc.v1.GetFactHistoryRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.GetFactHistoryResponse>) responseObserver);
          break;
        case METHODID_SEARCH_GRAPH:
          serviceImpl.searchGraph((kgsvc.v1.SearchGraphRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.SearchGraphResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getSearchFactsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.SearchFactsRequest,
              kgsvc.v1.SearchFactsResponse>(
                service, METHODID_SEARCH_FACTS)))
        .addMethod(
          getGetEntityEdgeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.GetEntityEdgeRequest,
              kgsvc.v1.GetEntityEdgeResponse>(
                service, METHODID_GET_ENTITY_EDGE)))
        .addMethod(
          getGetEpisodesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.GetEpisodesRequest,
              kgsvc.v1.GetEpisodesResponse>(
                service, METHODID_GET_EPISODES)))
        .addMethod(
          getGetMemoryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.GetMemoryRequest,
              kgsvc.v1.GetMemoryResponse>(
                service, METHODID_GET_MEMORY)))
        .addMethod(
          getGetEntityNodeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.GetEntityNodeRequest,
              kgsvc.v1.GetEntityNodeResponse>(
                service, METHODID_GET_ENTITY_NODE)))
        .addMethod(
          getGetFactHistoryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.GetFactHistoryRequest,
              kgsvc.v1.GetFactHistoryResponse>(
                service, METHODID_GET_FACT_HISTORY)))
        .addMethod(
          getSearchGraphMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.SearchGraphRequest,
              kgsvc.v1.SearchGraphResponse>(
                service, METHODID_SEARCH_GRAPH)))
        .build();
  }

  private static abstract class RetrievalServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    RetrievalServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return kgsvc.v1.RetrievalProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("RetrievalService");
    }
  }

  private static final class RetrievalServiceFileDescriptorSupplier
      extends RetrievalServiceBaseDescriptorSupplier {
    RetrievalServiceFileDescriptorSupplier() {}
  }

  private static final class RetrievalServiceMethodDescriptorSupplier
      extends RetrievalServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    RetrievalServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (RetrievalServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new RetrievalServiceFileDescriptorSupplier())
              .addMethod(getSearchFactsMethod())
              .addMethod(getGetEntityEdgeMethod())
              .addMethod(getGetEpisodesMethod())
              .addMethod(getGetMemoryMethod())
              .addMethod(getGetEntityNodeMethod())
              .addMethod(getGetFactHistoryMethod())
              .addMethod(getSearchGraphMethod())
              .build();
        }
      }
    }
    return result;
  }
}
