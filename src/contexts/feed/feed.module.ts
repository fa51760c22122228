import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { WakeChannel } from '@engine/wake-channel.js';
import { FeedController } from './http/feed.controller.js';
import { FeedAccess } from './queries/feed-access.js';
import { FeedHub, openFeedHub } from './queries/feed-hub.js';

@Module({
  controllers: [FeedController],
  providers: [FeedAccess, { provide: FeedHub, inject: [DataSource, WakeChannel], useFactory: openFeedHub }],
})
export class FeedModule {}
